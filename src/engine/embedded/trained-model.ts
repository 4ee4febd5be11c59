import type * as ort from "onnxruntime-node";
import type { LoraShape } from "../engine.ts";
import type { ModelShape } from "./architecture.ts";
import type { FlatParameters } from "./flat-parameters.ts";
import type { AdapterParameters } from "./lora.ts";
import type { Parameters } from "./parameters.ts";

/** A model as it is trained: as a whole, or a frozen one with an adapter. */
export class TrainedModel {
  readonly shape: ModelShape;
  readonly lora: LoraShape | undefined;
  /** What an optimiser step changes. */
  readonly trainable: FlatParameters;
  /** Weights by name, the adapter's included, no copy. */
  readonly weightTensors: Readonly<Record<string, ort.Tensor>>;

  constructor(
    readonly base: Parameters,
    readonly adapter?: AdapterParameters,
  ) {
    this.shape = base.shape;
    this.lora = adapter?.lora;
    this.trainable = adapter ?? base;
    this.weightTensors = adapter === undefined ? base.weightTensors : { ...base.weightTensors, ...adapter.weightTensors };
  }
}
