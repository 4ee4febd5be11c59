import type { InferenceSession, Tensor } from "onnxruntime-node";
import { ConfigError, ModelError } from "../../errors.ts";
import { createSession, integerTensor } from "../../onnx/session.ts";
import type { EncoderSettings } from "./encoder-folder.ts";
import { poolTokens } from "./pool-vectors.ts";

/** Outputs by the names that exporters give them: a vector a token [batch, tokens, width], or a finished one a text [batch, width]. */
const tokenOutputs = ["last_hidden_state", "token_embeddings"];
const sentenceOutputs = ["sentence_embedding", "sentence_embeddings"];

interface GraphOutput {
  readonly name: string;
  /** Whether the graph pools by itself. */
  readonly pooled: boolean;
}

/** An encoder's ONNX graph: batches of token ids in, one vector a sequence out. */
export class EncoderGraph {
  private constructor(
    private readonly session: InferenceSession,
    private readonly settings: EncoderSettings,
    private readonly output: GraphOutput,
    private readonly padTokenId: number,
  ) {}

  /** Whether vectors come pooled from the graph. */
  get pooled(): boolean {
    return this.output.pooled;
  }

  /** @throws ModelError when the graph can't be loaded or is no text encoder; ConfigError when it can't be pooled as asked. */
  static async open(settings: EncoderSettings, padTokenId: number, threads: number): Promise<EncoderGraph> {
    let session: InferenceSession;
    try {
      session = await createSession(settings.graph, threads, { arena: true });
    } catch (error) {
      throw new ModelError(`${settings.graph} can't be loaded: ${(error as Error).message}: fetch or export the model again`, {
        cause: error,
      });
    }
    checkInputs(session, settings.graph);
    return new EncoderGraph(session, settings, chooseOutput(session, settings), padTokenId);
  }

  /** @param sequences Token ids, none of them empty. @returns Vectors, not normalised. @throws ModelError for a failing graph or values that are no numbers. */
  async run(sequences: readonly (readonly number[])[]): Promise<Float32Array[]> {
    const longest = Math.max(...sequences.map((ids) => ids.length));
    let result: Tensor | undefined;
    try {
      result = (await this.session.run(this.feeds(sequences, longest), [this.output.name]))[this.output.name];
    } catch (error) {
      throw new ModelError(
        `${this.settings.graph} failed on ${sequences.length} texts of up to ${longest} tokens: ${(error as Error).message}: check that graph and tokenizer belong together and that retrieval.embedder.maxTokens fits the model`,
        { cause: error },
      );
    }
    if (result?.type !== "float32") {
      throw new ModelError(
        `${this.settings.graph}: output ${this.output.name} is ${result?.type ?? "missing"}, expected float32: choose a graph with float32 outputs`,
      );
    }
    const vectors = this.pool(result, sequences, longest);
    result.dispose();
    return vectors;
  }

  private pool(result: Tensor, sequences: readonly (readonly number[])[], longest: number): Float32Array[] {
    const expected = this.output.pooled ? [sequences.length] : [sequences.length, longest];
    const width = result.dims.at(-1) ?? 0;
    if (result.dims.length !== expected.length + 1 || expected.some((size, index) => result.dims[index] !== size)) {
      throw new ModelError(
        `${this.settings.graph}: output ${this.output.name} has shape [${result.dims.join(", ")}], expected [${expected.join(", ")}, dimensions]: choose another graph`,
      );
    }
    const data = result.data as Float32Array;
    if (this.output.pooled) return sequences.map((_, row) => data.slice(row * width, (row + 1) * width));
    return sequences.map((ids, row) => poolTokens(data, { row, length: ids.length, longest, width }, this.settings.pooling));
  }

  private feeds(sequences: readonly (readonly number[])[], longest: number): Record<string, Tensor> {
    const shape = [sequences.length, longest];
    const fill = (value: (id: number | undefined, position: number) => number) => {
      const values = new BigInt64Array(sequences.length * longest);
      sequences.forEach((ids, row) => {
        for (let position = 0; position < longest; position++) values[row * longest + position] = BigInt(value(ids[position], position));
      });
      return integerTensor(values, shape);
    };
    const makers: Readonly<Record<string, () => Tensor>> = {
      input_ids: () => fill((id) => id ?? this.padTokenId),
      attention_mask: () => fill((id) => (id === undefined ? 0 : 1)),
      token_type_ids: () => fill(() => 0),
      position_ids: () => fill((_, position) => position),
    };
    return Object.fromEntries(this.session.inputNames.map((name) => [name, (makers[name] as () => Tensor)()]));
  }
}

function checkInputs({ inputNames, inputMetadata }: InferenceSession, file: string): void {
  const known = ["input_ids", "attention_mask", "token_type_ids", "position_ids"];
  const others = inputNames.filter((name) => !known.includes(name));
  if (!inputNames.includes("input_ids") || others.length > 0) {
    throw new ModelError(
      `${file} is no text encoder: its inputs are ${inputNames.join(", ")}, expected input_ids with some of ${known.slice(1).join(", ")}`,
    );
  }
  for (const input of inputMetadata) {
    if (input.isTensor && input.type !== "int64")
      throw new ModelError(`${file}: input ${input.name} is ${input.type}, expected int64: export the model again`);
  }
}

/** A finished vector is taken where the graph has one, unless the configuration asks for a pooling. */
function chooseOutput({ outputNames, outputMetadata }: InferenceSession, settings: EncoderSettings): GraphOutput {
  const { graph, poolingAsked, otherModules } = settings;
  const ofRank = (rank: number) =>
    outputMetadata.filter((output) => output.isTensor && output.shape.length === rank).map(({ name }) => name);
  const only = (names: readonly string[]) => (outputNames.length === 1 ? names[0] : undefined);
  const sentence = sentenceOutputs.find((name) => outputNames.includes(name)) ?? only(ofRank(2));
  const token = tokenOutputs.find((name) => outputNames.includes(name)) ?? only(ofRank(3));
  if (sentence !== undefined && !poolingAsked) return { name: sentence, pooled: true };
  if (token === undefined && sentence !== undefined) {
    throw new ConfigError(`retrieval.embedder.pooling: ${graph} pools by itself: leave the setting out`);
  }
  if (token === undefined) {
    throw new ModelError(
      `${graph} has the outputs ${outputNames.join(", ")}, expected ${[...tokenOutputs, ...sentenceOutputs].join(", ")} or a single one`,
    );
  }
  if (otherModules.length > 0) {
    throw new ModelError(
      `modules.json puts ${otherModules.join(", ")} behind the pooling, and ${graph} has no output ${sentenceOutputs[0]}: export the whole model with  optimum-cli export onnx --library sentence_transformers`,
    );
  }
  return { name: token, pooled: false };
}
