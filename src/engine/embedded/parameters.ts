import type * as ort from "onnxruntime-node";
import { floatTensor } from "../../onnx/session.ts";
import { Rng } from "../../rng.ts";
import { type ModelShape, parameterSpecs } from "./architecture.ts";
import { FlatParameters } from "./flat-parameters.ts";
import { graphParameters } from "./graph-parameters.ts";

/**
 * The parameters of one model, by their Hugging Face names. Tensors keep their Hugging Face layout ([out, in]), so that safetensors load
 * without transposition; query, key and value (and gate and up) lie next to each other, so that one tensor covers them without a copy.
 */
export class Parameters extends FlatParameters {
  /** Weights by the names of `graphParameters` (query, key and value as one): tensors over the buffer, no copy. */
  readonly feeds: Readonly<Record<string, ort.Tensor>>;

  constructor(
    readonly shape: ModelShape,
    options: { readonly trainable?: boolean } = {},
  ) {
    super(parameterSpecs(shape), graphParameters(shape), options.trainable ?? true);
    this.feeds = Object.fromEntries(
      this.spans.map(({ parameter, offset, length }) => [
        parameter.name,
        floatTensor(this.weights.subarray(offset, offset + length), parameter.shape),
      ]),
    );
  }

  /**
   * Random weights: normal with deviation `std`, smaller by sqrt(2 layers) where a layer adds to the residual stream;
   * norms 1, biases 0. Every tensor draws from its own stream of `seed`.
   */
  initialise(seed: number, std = 0.02): void {
    for (const spec of this.specs) {
      const weights = this.view(spec.name);
      if (spec.kind === "norm") weights.fill(1);
      else if (spec.kind === "bias") weights.fill(0);
      else {
        const rng = Rng.stream(seed, "initialise", spec.name);
        const residual = spec.name.endsWith("o_proj.weight") || spec.name.endsWith("down_proj.weight");
        const deviation = residual ? std / Math.sqrt(2 * this.shape.layers) : std;
        for (let index = 0; index < weights.length; index++) weights[index] = rng.normal() * deviation;
      }
    }
  }
}
