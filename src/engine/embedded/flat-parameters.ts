/** Named tensors in flat buffers: weights and, when trainable, gradients and the two moments of AdamW, all in one layout. */
import type * as ort from "onnxruntime-node";
import { ModelError } from "../../errors.ts";
import { floatTensor } from "../../onnx/session.ts";
import { elementCount, type ParameterSpec } from "./architecture.ts";
import type { GraphParameter } from "./graph-parameters.ts";
import { type WasmMemory, wasm } from "./wasm.ts";

/** One of the flat buffers. */
export type ParameterBuffer = "weights" | "gradients" | "firstMoments" | "secondMoments";

/** Floats to which every graph parameter is aligned (64 bytes: a cache line, an AVX-512 register). */
const alignment = 16;
const pageBytes = 65536;
const maxPages = 65536;

/** Where a graph parameter lies in the flat buffers, in floats. */
export interface ParameterSpan {
  readonly parameter: GraphParameter;
  readonly offset: number;
  readonly length: number;
}

/** What an optimiser works on: tensors by name, as views of the buffers. */
export class FlatParameters {
  readonly spans: readonly ParameterSpan[];
  readonly weights: Float32Array;
  /** Empty, like both moments, when not trainable. */
  readonly gradients: Float32Array;
  readonly firstMoments: Float32Array;
  readonly secondMoments: Float32Array;
  /** Backs the four buffers where they fit in one (4 GiB), so that the optimiser's wasm kernel reaches them. */
  readonly memory: WasmMemory | undefined;
  /** Weights by name, no copy. */
  readonly weightTensors: Readonly<Record<string, ort.Tensor>>;
  /** Gradients by name, no copy; empty when not trainable. */
  readonly gradientTensors: Readonly<Record<string, ort.Tensor>>;
  private readonly places = new Map<string, { offset: number; shape: readonly number[] }>();

  /** @param groups The tensors of `specs` in storage order; those of a group lie next to each other. */
  constructor(
    readonly specs: readonly ParameterSpec[],
    groups: readonly GraphParameter[],
    trainable: boolean,
  ) {
    const sizes = new Map(specs.map((spec) => [spec.name, spec.shape]));
    const spans: ParameterSpan[] = [];
    let size = 0;
    for (const parameter of groups) {
      spans.push({ parameter, offset: size, length: elementCount(parameter.shape) });
      let offset = size;
      for (const name of parameter.members) {
        const memberShape = sizes.get(name) as readonly number[];
        this.places.set(name, { offset, shape: memberShape });
        offset += elementCount(memberShape);
      }
      size = Math.ceil(offset / alignment) * alignment;
    }
    this.spans = spans;
    const buffers = trainable ? 4 : 1;
    const pages = Math.ceil((buffers * size * 4) / pageBytes);
    this.memory = pages <= maxPages ? new wasm.Memory({ initial: pages, maximum: pages }) : undefined;
    const buffer = (index: number) => {
      if (index >= buffers) return new Float32Array(0);
      return this.memory ? new Float32Array(this.memory.buffer, index * size * 4, size) : new Float32Array(size);
    };
    this.weights = buffer(0);
    this.gradients = buffer(1);
    this.firstMoments = buffer(2);
    this.secondMoments = buffer(3);
    const tensors = (source: ParameterBuffer) =>
      Object.fromEntries(specs.map((spec) => [spec.name, floatTensor(this.view(spec.name, source), spec.shape)]));
    this.weightTensors = tensors("weights");
    this.gradientTensors = trainable ? tensors("gradients") : {};
  }

  /** The numbers of one tensor: a view, not a copy. @throws ModelError for an unknown name. */
  view(name: string, buffer: ParameterBuffer = "weights"): Float32Array {
    const place = this.places.get(name);
    if (place === undefined) throw new ModelError(`the model has no tensor ${name}`);
    return this[buffer].subarray(place.offset, place.offset + elementCount(place.shape));
  }

  /** Where a graph parameter lies. @throws ModelError for an unknown name. */
  span(graphName: string): ParameterSpan {
    const span = this.spans.find((candidate) => candidate.parameter.name === graphName);
    if (span === undefined) throw new ModelError(`the model has no graph parameter ${graphName}`);
    return span;
  }
}
