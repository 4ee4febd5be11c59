/** Low-rank adapters in flat buffers; see LoraShape for what they compute. */
import { Rng } from "../../rng.ts";
import { type LoraShape, loraTargets } from "../engine.ts";
import { type ModelShape, type ParameterSpec, parameterSpecs } from "./architecture.ts";
import { FlatParameters } from "./flat-parameters.ts";

/** The same adapter always as the same data: targets in storage order, what is off left out. */
export function canonicalLora({ rank, alpha, rankStabilised, targets }: LoraShape): LoraShape {
  return { rank, alpha, ...(rankStabilised ? { rankStabilised } : {}), targets: loraTargets.filter((target) => targets.includes(target)) };
}

/** What (x A^T) B^T is multiplied with. */
export function loraScale({ rank, alpha, rankStabilised }: LoraShape): number {
  return alpha / (rankStabilised ? Math.sqrt(rank) : rank);
}

/** The adapter's two tensors beside a weight, e.g. `model.layers.0.self_attn.q_proj.weight`. */
export function adapterNames(weightName: string): { readonly a: string; readonly b: string } {
  const stem = weightName.replace(/\.weight$/, "");
  return { a: `${stem}.lora_A.weight`, b: `${stem}.lora_B.weight` };
}

/** Whether a weight, e.g. `self_attn.q_proj.weight`, has an adapter. */
export function isAdapted(lora: LoraShape | undefined, weightName: string): lora is LoraShape {
  return lora?.targets.some((target) => weightName.endsWith(`.${target}.weight`)) ?? false;
}

/** Every tensor of an adapter, in storage order: A before B. */
export function adapterSpecs(shape: ModelShape, lora: LoraShape): ParameterSpec[] {
  return parameterSpecs(shape).flatMap(({ name, shape: [out = 0, inputs = 0] }): ParameterSpec[] => {
    if (!isAdapted(lora, name)) return [];
    const { a, b } = adapterNames(name);
    return [
      { name: a, shape: [lora.rank, inputs], kind: "linear" },
      { name: b, shape: [out, lora.rank], kind: "linear" },
    ];
  });
}

/** The numbers of one adapter. */
export class AdapterParameters extends FlatParameters {
  constructor(
    readonly shape: ModelShape,
    readonly lora: LoraShape,
    options: { readonly trainable?: boolean } = {},
  ) {
    const specs = adapterSpecs(shape, lora);
    super(
      specs,
      specs.map((spec) => ({ ...spec, members: [spec.name] })),
      options.trainable ?? true,
    );
  }

  /** As PEFT does: A uniform within 1/sqrt(in), B zero, so that the adapter begins without effect. Every tensor draws from its own stream of `seed`. */
  initialise(seed: number): void {
    for (const { name, shape } of this.specs) {
      const weights = this.view(name);
      if (name.endsWith(".lora_B.weight")) weights.fill(0);
      else {
        const rng = Rng.stream(seed, "initialise", name);
        const bound = 1 / Math.sqrt(shape[1] as number);
        for (let index = 0; index < weights.length; index++) weights[index] = (2 * rng.uniform() - 1) * bound;
      }
    }
  }
}

/** A weight [out, in] with the adapter added: W + scale B A; the weight itself where it has no adapter. */
export function mergedWeight({ name, shape }: ParameterSpec, weight: Float32Array, adapter: AdapterParameters): Float32Array {
  const { lora } = adapter;
  if (!isAdapted(lora, name)) return weight;
  const [out = 0, inputs = 0] = shape;
  const names = adapterNames(name);
  const [a, b] = [adapter.view(names.a), adapter.view(names.b)];
  const scale = loraScale(lora);
  const merged = weight.slice();
  for (let row = 0; row < out; row++) {
    for (let rank = 0; rank < lora.rank; rank++) {
      const factor = scale * (b[row * lora.rank + rank] as number);
      for (let column = 0; column < inputs; column++) {
        merged[row * inputs + column] = (merged[row * inputs + column] as number) + factor * (a[rank * inputs + column] as number);
      }
    }
  }
  return merged;
}
