/** AdamW (Loshchilov and Hutter) over flat buffers. */
import type { OptimStepOptions } from "../engine.ts";
import { type AdamWKernel, createAdamWKernel } from "./adamw-kernel.ts";
import type { FlatParameters } from "./flat-parameters.ts";

/** A run of numbers with one rule for weight decay. */
interface DecaySpan {
  start: number;
  end: number;
  readonly decayed: boolean;
}

/** Norm gains and biases are not decayed. Neighbours with the same rule are joined. */
function decaySpans(parameters: FlatParameters): DecaySpan[] {
  const spans: DecaySpan[] = [];
  for (const { parameter, offset, length } of parameters.spans) {
    const decayed = parameter.kind === "linear" || parameter.kind === "embedding";
    const last = spans.at(-1);
    if (last?.decayed === decayed) last.end = offset + length;
    else spans.push({ start: offset, end: offset + length, decayed });
  }
  return spans;
}

/** The Euclidean norm of the gradient, summed in double precision. */
export function gradientNorm(gradients: Float32Array): number {
  // Two sums, so that an addition need not wait for the one before it.
  let even = 0;
  let odd = 0;
  const pairs = gradients.length - (gradients.length % 2);
  for (let index = 0; index < pairs; index += 2) {
    even += (gradients[index] as number) ** 2;
    odd += (gradients[index + 1] as number) ** 2;
  }
  if (pairs < gradients.length) even += (gradients[pairs] as number) ** 2;
  return Math.sqrt(even + odd);
}

const kernels = new WeakMap<FlatParameters, AdamWKernel>();

/** What every number of a run is updated with. */
interface Update {
  readonly scale: number;
  readonly keep: number;
  readonly rate: number;
  readonly correction: number;
  readonly options: OptimStepOptions;
}

/** The kernel of parameters whose buffers share one memory. */
function kernelOf(parameters: FlatParameters): AdamWKernel | undefined {
  let kernel = kernels.get(parameters);
  if (kernel === undefined && parameters.memory !== undefined) {
    kernel = createAdamWKernel(parameters.memory);
    kernels.set(parameters, kernel);
  }
  return kernel;
}

function updateWithKernel(kernel: AdamWKernel, parameters: FlatParameters, start: number, end: number, update: Update): void {
  const { weights, gradients, firstMoments, secondMoments } = parameters;
  const at = (buffer: Float32Array) => buffer.byteOffset + start * 4;
  const { beta1, beta2, eps } = update.options;
  // What lies between the end of a run and the next multiple of four is padding: zeros that stay zeros.
  const bytes = Math.ceil((end - start) / 4) * 16;
  const scalars = [update.scale, beta1, 1 - beta1, beta2, 1 - beta2, update.keep, update.rate, update.correction, eps];
  kernel(at(weights), at(gradients), at(firstMoments), at(secondMoments), bytes, ...scalars);
}

/** The same for buffers too large for one memory. */
export function updateInScript(parameters: FlatParameters, start: number, end: number, update: Update): void {
  const { weights, gradients, firstMoments, secondMoments } = parameters;
  const { beta1, beta2, eps } = update.options;
  for (let index = start; index < end; index++) {
    const gradient = (gradients[index] as number) * update.scale;
    const first = beta1 * (firstMoments[index] as number) + (1 - beta1) * gradient;
    const second = beta2 * (secondMoments[index] as number) + (1 - beta2) * gradient * gradient;
    firstMoments[index] = first;
    secondMoments[index] = second;
    weights[index] = (weights[index] as number) * update.keep - (update.rate * first) / (Math.sqrt(second) * update.correction + eps);
  }
}

/**
 * One step; `step` counts from 1. The gradients are scaled to `maxGradNorm`, used and cleared.
 * @returns the gradient's norm before clipping.
 * @throws RangeError when that norm is not finite; the weights and moments are then untouched, the gradients cleared.
 */
export function adamWStep(parameters: FlatParameters, step: number, options: OptimStepOptions): number {
  const norm = gradientNorm(parameters.gradients);
  if (!Number.isFinite(norm)) {
    parameters.gradients.fill(0);
    throw new RangeError(
      `the gradient norm is ${norm} at optimiser step ${step}: weights are unchanged; lower the learning rate or look at the losses of this step`,
    );
  }
  const { beta1, beta2, learningRate, weightDecay, maxGradNorm } = options;
  const kernel = kernelOf(parameters);
  for (const { start, end, decayed } of decaySpans(parameters)) {
    const update: Update = {
      scale: norm > maxGradNorm ? maxGradNorm / norm : 1,
      keep: decayed ? 1 - learningRate * weightDecay : 1,
      rate: learningRate / (1 - beta1 ** step),
      correction: 1 / Math.sqrt(1 - beta2 ** step),
      options,
    };
    if (kernel === undefined) updateInScript(parameters, start, end, update);
    else updateWithKernel(kernel, parameters, start, end, update);
  }
  parameters.gradients.fill(0);
  return norm;
}
