import type { Executor, TokenScores } from "./executor.ts";
import { LayerExecutor } from "./layer-executor.ts";
import { fitsWholeGraph, wholeGraphBytes } from "./memory-plan.ts";
import type { MicroBatch } from "./micro-batch.ts";
import type { RotaryTables } from "./runtime.ts";
import type { TrainedModel } from "./trained-model.ts";
import { WholeGraphExecutor } from "./whole-graph-executor.ts";

/**
 * Trains on a micro-batch as one graph where its activations fit into `wholeGraphBytes`, which saves the second forward pass, and layer by
 * layer where they don't. Which of the two depends on the shapes alone, not on the machine.
 */
export class FittingExecutor implements Executor {
  private readonly whole: WholeGraphExecutor;
  private readonly layers: LayerExecutor;

  constructor(
    private readonly model: TrainedModel,
    tables: RotaryTables,
    threads: number,
    private readonly limitBytes = wholeGraphBytes,
  ) {
    this.whole = new WholeGraphExecutor(model, tables, threads);
    this.layers = new LayerExecutor(model, tables, threads);
  }

  /** Nothing is computed twice where nothing is trained, and graphs of one layer are made sooner. */
  score(batch: MicroBatch): Promise<TokenScores> {
    return this.layers.score(batch);
  }

  train(batch: MicroBatch, terms: Float32Array, entropyBonus: boolean): Promise<TokenScores> {
    const { shape, lora } = this.model;
    const fits = fitsWholeGraph(shape, lora, batch.batch * batch.length, batch.length, this.limitBytes);
    return (fits ? this.whole : this.layers).train(batch, terms, entropyBonus);
  }

  async release(): Promise<void> {
    await Promise.all([this.whole.release(), this.layers.release()]);
  }
}
