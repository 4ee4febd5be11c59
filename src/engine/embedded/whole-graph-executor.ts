import type * as ort from "onnxruntime-node";
import { createSession, integerTensor } from "../../onnx/session.ts";
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
import type { MicroBatch } from "./micro-batch.ts";
import type { RotaryTables } from "./runtime.ts";
import { accumulatedName, gradientName } from "./tape.ts";
import { embeddingName, headName, trainGraph } from "./train-graph.ts";
import type { TrainedModel } from "./trained-model.ts";

/** Runs a micro-batch as one graph: fastest for small models. */
export class WholeGraphExecutor implements Executor {
  private readonly sessions = new SessionCache();
  private readonly causalMasks = new CausalMasks();
  private readonly gradientFeeds: Record<string, ort.Tensor> = {};
  private readonly gradientFetches: Record<string, ort.Tensor> = {};

  constructor(
    private readonly model: TrainedModel,
    private readonly tables: RotaryTables,
    private readonly threads: number,
  ) {
    for (const [name, tensor] of Object.entries(model.trainable.gradientTensors)) {
      // The gradient of an untied embedding is made on the host alone.
      if (name === embeddingName && !model.shape.tiedHead) continue;
      this.gradientFeeds[accumulatedName(name)] = tensor;
      this.gradientFetches[gradientName(name)] = tensor;
    }
  }

  score(batch: MicroBatch): Promise<TokenScores> {
    return this.run(batch, undefined, false);
  }

  train(batch: MicroBatch, terms: Float32Array, entropyBonus: boolean): Promise<TokenScores> {
    return this.run(batch, terms, entropyBonus);
  }

  private async run(batch: MicroBatch, terms: Float32Array | undefined, entropyBonus: boolean): Promise<TokenScores> {
    const { shape, lora, trainable, weightTensors } = this.model;
    const variant = headVariant(batch, shape.vocabularySize, entropyBonus);
    const differentiate = terms !== undefined;
    const session = await this.sessions.get(JSON.stringify({ ...variant, differentiate }), () =>
      createSession(trainGraph(shape, variant, differentiate, lora), this.threads),
    );
    const onHost = differentiate && lora === undefined;
    const hostGradients: Record<string, null> = onHost ? { embeddingGradient: null, labelGradient: null } : {};
    const outputs = await session.run(
      {
        ...weightTensors,
        ...headFeeds(batch, shape.vocabularySize, termColumns.length, terms),
        tokens: integerTensor(batch.tokens, [batch.batch, batch.length]),
        ...positionFeeds(batch, this.tables, this.causalMasks),
        ...(differentiate && this.gradientFeeds),
      },
      differentiate ? { ...this.gradientFetches, logprobs: null, entropies: null, ...hostGradients } : ["logprobs", "entropies"],
    );
    if (onHost) {
      scatterAddRows(trainable.view(embeddingName, "gradients"), batch.tokens, floats(outputs, "embeddingGradient"), shape.hiddenSize);
      scatterAddRows(trainable.view(headName(shape), "gradients"), batch.labels, floats(outputs, "labelGradient"), shape.hiddenSize);
    }
    return { logprobs: floats(outputs, "logprobs"), entropies: floats(outputs, "entropies") };
  }

  release(): Promise<void> {
    return this.sessions.release();
  }
}
