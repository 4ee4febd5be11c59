/** AdamW (Loshchilov and Hutter) over the flat buffers of `Parameters`. */
import type { OptimStepOptions } from "../engine.ts";
import type { Parameters } from "./parameters.ts";

/** A run of numbers with one rule for weight decay. */
interface DecaySpan {
  start: number;
  end: number;
  readonly decayed: boolean;
}

/** Norm gains and biases are not decayed. Neighbours with the same rule are joined. */
function decaySpans(parameters: Parameters): DecaySpan[] {
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
  let sum = 0;
  for (let index = 0; index < gradients.length; index++) sum += (gradients[index] as number) ** 2;
  return Math.sqrt(sum);
}

/**
 * One step; `step` counts from 1. The gradients are scaled to `maxGradNorm`, used and cleared.
 * @returns the gradient's norm before clipping.
 * @throws RangeError when that norm is not finite; the weights and moments are then untouched, the gradients cleared.
 */
export function adamWStep(parameters: Parameters, step: number, options: OptimStepOptions): number {
  const norm = gradientNorm(parameters.gradients);
  if (!Number.isFinite(norm)) {
    parameters.gradients.fill(0);
    throw new RangeError(
      `the gradient norm is ${norm} at optimiser step ${step}: weights are unchanged; lower the learning rate or look at the losses of this step`,
    );
  }
  const scale = norm > options.maxGradNorm ? options.maxGradNorm / norm : 1;
  const { weights, gradients, firstMoments, secondMoments } = parameters;
  const { beta1, beta2, eps, learningRate } = options;
  const rate = learningRate / (1 - beta1 ** step);
  const correction = 1 / Math.sqrt(1 - beta2 ** step);
  for (const span of decaySpans(parameters)) {
    const keep = span.decayed ? 1 - learningRate * options.weightDecay : 1;
    for (let index = span.start; index < span.end; index++) {
      const gradient = (gradients[index] as number) * scale;
      const first = beta1 * (firstMoments[index] as number) + (1 - beta1) * gradient;
      const second = beta2 * (secondMoments[index] as number) + (1 - beta2) * gradient * gradient;
      firstMoments[index] = first;
      secondMoments[index] = second;
      weights[index] = (weights[index] as number) * keep - (rate * first) / (Math.sqrt(second) * correction + eps);
    }
  }
  gradients.fill(0);
  return norm;
}
