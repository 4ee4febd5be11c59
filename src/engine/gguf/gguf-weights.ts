import { ModelError } from "../../errors.ts";
import type { GgufFile } from "./gguf-file.ts";

/** GGUF names of a layer's tensors by the end of their Hugging Face names, up to `.weight` or `.bias`. */
const layerNames: Readonly<Record<string, string>> = {
  input_layernorm: "attn_norm",
  "self_attn.q_proj": "attn_q",
  "self_attn.k_proj": "attn_k",
  "self_attn.v_proj": "attn_v",
  "self_attn.o_proj": "attn_output",
  "self_attn.q_norm": "attn_q_norm",
  "self_attn.k_norm": "attn_k_norm",
  post_attention_layernorm: "ffn_norm",
  "mlp.gate_proj": "ffn_gate",
  "mlp.up_proj": "ffn_up",
  "mlp.down_proj": "ffn_down",
};
const otherNames: Readonly<Record<string, string>> = {
  "model.embed_tokens.weight": "token_embd.weight",
  "model.norm.weight": "output_norm.weight",
  "lm_head.weight": "output.weight",
};

/** A GGUF file's tensors under their Hugging Face names, as any other source of weights. It closes with the file. */
export class GgufWeights {
  readonly path: string;

  /** @param config As `ggufConfig` made it of the same file. */
  constructor(
    private readonly file: GgufFile,
    private readonly config: Readonly<Record<string, unknown>>,
  ) {
    this.path = file.path;
  }

  get names(): string[] {
    const known = new Map([...this.layerPairs(), ...Object.entries(otherNames)].map(([ours, theirs]) => [theirs, ours]));
    // The rotary divisors are read with the configuration.
    return this.file.names.filter((name) => name !== "rope_freqs.weight").map((name) => known.get(name) ?? name);
  }

  /** @throws ModelError as `GgufFile.readInto` does. */
  async readInto(name: string, shape: readonly number[], target: Float32Array): Promise<void> {
    await this.file.readInto(this.theirName(name), shape, target);
    const projection = /self_attn\.([qk])_proj\.weight$/.exec(name)?.[1];
    if (this.config["model_type"] === "llama" && projection !== undefined) {
      unfold(target, shape[1] as number, this.config["head_dim"] as number);
    }
  }

  close(): Promise<void> {
    return this.file.close();
  }

  private theirName(name: string): string {
    const theirs = otherNames[name] ?? this.layerPairs().find(([ours]) => ours === name)?.[1];
    if (theirs === undefined) throw new ModelError(`${this.path}: tensor ${name} has no place in a GGUF file`);
    return theirs;
  }

  private layerPairs(): [ours: string, theirs: string][] {
    return Array.from({ length: this.config["num_hidden_layers"] as number }, (_, layer) =>
      Object.entries(layerNames).flatMap(([ours, theirs]) =>
        ["weight", "bias"].map((kind): [string, string] => [`model.layers.${layer}.${ours}.${kind}`, `blk.${layer}.${theirs}.${kind}`]),
      ),
    ).flat();
  }
}

/**
 * Llama weights lie in GGUF files as its rotary kernel wants them: the two numbers of a rotated pair next to each other. Hugging Face keeps the
 * first of all pairs of a head before the second of all. `weights` [heads * headSize, columns] is put into that order.
 */
function unfold(weights: Float32Array, columns: number, headSize: number): void {
  const half = headSize / 2;
  const block = headSize * columns;
  for (let start = 0; start < weights.length; start += block) {
    const head = weights.slice(start, start + block);
    for (let pair = 0; pair < half; pair++) {
      for (let side = 0; side < 2; side++) {
        const from = (2 * pair + side) * columns;
        weights.set(head.subarray(from, from + columns), start + (side * half + pair) * columns);
      }
    }
  }
}
