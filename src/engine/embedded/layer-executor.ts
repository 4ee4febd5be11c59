import type * as ort from "onnxruntime-node";
import { createSession, floatTensor } from "../../onnx/session.ts";
import {
  CausalMasks,
  type Executor,
  floats,
  headFeeds,
  headVariant,
  positionFeeds,
  SessionCache,
  scatterAddRows,
  type TokenScores,
} from "./executor.ts";
import { termColumns } from "./head-loss.ts";
import { headGraph, layerGraph, layerSuffixes } from "./layer-graphs.ts";
import type { MicroBatch } from "./micro-batch.ts";
import type { RotaryTables } from "./runtime.ts";
import { accumulatedName, gradientName } from "./tape.ts";
import { embeddingName, finalNormName, headName, layerPrefix } from "./train-graph.ts";
import type { TrainedModel } from "./trained-model.ts";

/** Runs a micro-batch layer by layer: every layer's forward pass is computed twice, but only one layer's activations exist at a time. */
export class LayerExecutor implements Executor {
  private readonly sessions = new SessionCache();
  private readonly causalMasks = new CausalMasks();
  private readonly suffixes: readonly string[];
  private readonly trainableSuffixes: readonly string[];

  constructor(
    private readonly model: TrainedModel,
    private readonly tables: RotaryTables,
    private readonly threads: number,
  ) {
    const own = layerSuffixes(model.base.specs);
    this.trainableSuffixes = layerSuffixes(model.trainable.specs);
    this.suffixes = model.adapter === undefined ? own : [...own, ...this.trainableSuffixes];
  }

  private layerSession(layer: number, differentiate: boolean): Promise<ort.InferenceSession> {
    const { shape, lora } = this.model;
    const last = layer === shape.layers - 1;
    return this.sessions.get(`layer ${last} ${differentiate}`, () =>
      createSession(layerGraph(shape, last, differentiate, lora), this.threads),
    );
  }

  private embed(batch: MicroBatch): ort.Tensor {
    const { shape, base } = this.model;
    const { hiddenSize } = shape;
    const matrix = base.view(embeddingName);
    const rows = new Float32Array(batch.tokens.length * hiddenSize);
    batch.tokens.forEach((token, index) => {
      const start = Number(token) * hiddenSize;
      rows.set(matrix.subarray(start, start + hiddenSize), index * hiddenSize);
    });
    return floatTensor(rows, [batch.tokens.length, hiddenSize]);
  }

  private layerWeights(layer: number): Record<string, ort.Tensor> {
    const prefix = layerPrefix(layer);
    return Object.fromEntries(this.suffixes.map((suffix) => [suffix, this.model.weightTensors[prefix + suffix] as ort.Tensor]));
  }

  /** The same gradient buffers as inputs (so far) and outputs, by the names that the graph uses. */
  private gradientTensors(names: readonly string[], prefix: string) {
    const tensors = names.map((name) => [name, this.model.trainable.gradientTensors[prefix + name] as ort.Tensor] as const);
    return {
      feeds: Object.fromEntries(tensors.map(([name, tensor]) => [accumulatedName(name), tensor])),
      fetches: Object.fromEntries(tensors.map(([name, tensor]) => [gradientName(name), tensor])),
    };
  }

  /** The input of every layer and the output of the last one. */
  private async forward(batch: MicroBatch, context: Record<string, ort.Tensor>, keep: boolean): Promise<ort.Tensor[]> {
    const activations = [this.embed(batch)];
    for (let layer = 0; layer < this.model.shape.layers; layer++) {
      const session = await this.layerSession(layer, false);
      const { y } = await session.run({ x: activations.at(-1) as ort.Tensor, ...context, ...this.layerWeights(layer) });
      if (!keep) activations.pop();
      activations.push(y as ort.Tensor);
    }
    return activations;
  }

  private async head(batch: MicroBatch, x: ort.Tensor, terms: Float32Array | undefined, entropyBonus: boolean) {
    const { shape, lora, weightTensors } = this.model;
    const variant = headVariant(batch, shape.vocabularySize, entropyBonus);
    const differentiate = terms !== undefined;
    const session = await this.sessions.get(JSON.stringify({ ...variant, differentiate }), () =>
      createSession(headGraph(shape, variant, differentiate, lora), this.threads),
    );
    const names = [finalNormName, headName(shape)];
    const weights = Object.fromEntries(names.map((name) => [name, weightTensors[name] as ort.Tensor]));
    const feeds = { x, ...headFeeds(batch, shape.vocabularySize, termColumns.length, terms), ...weights };
    if (!differentiate) return session.run(feeds, ["logprobs", "entropies"]);
    if (lora !== undefined) return session.run(feeds, ["logprobs", "entropies", "dx"]);
    const gradients = this.gradientTensors(names, "");
    return session.run(
      { ...feeds, ...gradients.feeds },
      { ...gradients.fetches, logprobs: null, entropies: null, labelGradient: null, dx: null },
    );
  }

  async score(batch: MicroBatch): Promise<TokenScores> {
    const activations = await this.forward(batch, positionFeeds(batch, this.tables, this.causalMasks), false);
    const outputs = await this.head(batch, activations.at(-1) as ort.Tensor, undefined, false);
    return { logprobs: floats(outputs, "logprobs"), entropies: floats(outputs, "entropies") };
  }

  async train(batch: MicroBatch, terms: Float32Array, entropyBonus: boolean): Promise<TokenScores> {
    const { shape, lora, trainable } = this.model;
    const context = positionFeeds(batch, this.tables, this.causalMasks);
    const activations = await this.forward(batch, context, true);
    const outputs = await this.head(batch, activations.pop() as ort.Tensor, terms, entropyBonus);
    if (lora === undefined) {
      scatterAddRows(trainable.view(headName(shape), "gradients"), batch.labels, floats(outputs, "labelGradient"), shape.hiddenSize);
    }
    let dy = outputs["dx"] as ort.Tensor;
    for (let layer = shape.layers - 1; layer >= 0; layer--) {
      const gradients = this.gradientTensors(this.trainableSuffixes, layerPrefix(layer));
      const feeds = { x: activations.pop() as ort.Tensor, dy, ...context, ...this.layerWeights(layer), ...gradients.feeds };
      const session = await this.layerSession(layer, true);
      dy = (await session.run(feeds, { ...gradients.fetches, dx: null }))["dx"] as ort.Tensor;
    }
    if (lora === undefined) {
      scatterAddRows(trainable.view(embeddingName, "gradients"), batch.tokens, dy.data as Float32Array, shape.hiddenSize);
    }
    return { logprobs: floats(outputs, "logprobs"), entropies: floats(outputs, "entropies") };
  }

  release(): Promise<void> {
    return this.sessions.release();
  }
}
