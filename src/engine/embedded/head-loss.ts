/**
 * The output head and the token losses, as one composite operator. Only the rows that the loss needs are multiplied with the
 * vocabulary, in chunks, so that nothing of size B x T x V exists. Losses are separable by token: the gradient with respect to
 * the hidden rows is made right behind the forward pass, from a coefficient d loss / d logprob a token.
 */
import type { Value } from "../../onnx/onnx-model.ts";
import type { Tape } from "./tape.ts";

/**
 * Columns of the `terms` input [M, 8]: all that a token's loss depends on besides its log-probability. Weights are folded in.
 * A token of weight 0 has zeros in every weight column and finite numbers elsewhere.
 */
export const termColumns = [
  /** -weight * advantage: d loss / d ratio where the clip is not active. */
  "policySlope",
  "oldLogprob",
  /** The log-ratios between which the gradient flows (bounds included). */
  "lowerLogRatio",
  "upperLogRatio",
  "referenceLogprob",
  /** klCoefficient * weight. */
  "klWeight",
  /** weight, for cross-entropy. */
  "likelihoodWeight",
  /** entropyCoefficient * weight. */
  "entropyWeight",
] as const;
/** Name of a column of `terms`. */
export type TermColumn = (typeof termColumns)[number];

/** Log-ratios are cut at this magnitude before exp; no gradient flows beyond. */
export const maxLogRatio = 20;

/** What a graph's head is compiled for. Chunks and both switches are structural: each combination is a session of its own. */
export interface HeadVariant {
  /** Into how many parts the rows are cut. */
  readonly chunks: number;
  /** Whether the grammar's token masks are added to the logits (inputs `maskTable` [K, V] and `maskIndex` [M]). */
  readonly masked: boolean;
  /** Whether the loss has an entropy bonus. */
  readonly entropyBonus: boolean;
}

interface ChunkInputs {
  readonly hidden: Value;
  readonly labels: Value;
  readonly terms: Value | undefined;
  readonly maskIndex: Value | undefined;
}

/** Log-probabilities and entropy of one chunk of rows, and what the gradient needs of them. */
interface ChunkDistribution {
  readonly logits: Value;
  readonly probabilities: Value;
  /** All [m, 1]. */
  readonly logSumExp: Value;
  readonly logprob: Value;
  readonly entropy: Value;
}

function distribution(tape: Tape, matrix: Value, chunk: ChunkInputs): ChunkDistribution {
  const { graph } = tape;
  const last = graph.integers(-1);
  let logits = tape.apply("Gemm", [chunk.hidden, matrix], { transB: 1 });
  if (chunk.maskIndex !== undefined)
    logits = tape.apply("Add", [logits, tape.apply("Gather", ["maskTable", chunk.maskIndex], { axis: 0 })]);
  const probabilities = tape.apply("Softmax", [logits], { axis: -1 });
  // log sum exp = largest logit - log of the largest probability: two reading passes instead of a second exp.
  const largest = tape.apply("ReduceMax", [logits, last], { keepdims: 1 });
  const largestProbability = tape.apply("ReduceMax", [probabilities, last], { keepdims: 1 });
  const logSumExp = tape.apply("Sub", [largest, tape.apply("Log", [largestProbability])]);
  const logprob = tape.apply("Sub", [tape.apply("GatherElements", [logits, chunk.labels], { axis: 1 }), logSumExp]);
  const meanLogit = tape.apply("ReduceSum", [tape.apply("Mul", [probabilities, logits]), last], { keepdims: 1 });
  return { logits, probabilities, logSumExp, logprob, entropy: tape.apply("Sub", [logSumExp, meanLogit]) };
}

/** d loss / d logprob [m, 1] of the clipped surrogate, the k3 divergence and cross-entropy together. */
function coefficient(tape: Tape, logprob: Value, term: (column: TermColumn) => Value): Value {
  const { graph } = tape;
  const bound = graph.scalar(maxLogRatio);
  const clamp = (x: Value) => tape.apply("Clip", [x, graph.scalar(-maxLogRatio), bound]);
  const asFloat = (condition: Value) => tape.apply("Cast", [condition], { to: 1 });
  const logRatio = tape.apply("Sub", [logprob, term("oldLogprob")]);
  const inside = tape.apply("And", [
    tape.apply("GreaterOrEqual", [logRatio, term("lowerLogRatio")]),
    tape.apply("LessOrEqual", [logRatio, term("upperLogRatio")]),
  ]);
  const ratio = tape.apply("Mul", [tape.apply("Exp", [clamp(logRatio)]), asFloat(inside)]);
  const policy = tape.apply("Mul", [ratio, term("policySlope")]);
  const distance = tape.apply("Sub", [term("referenceLogprob"), logprob]);
  const near = asFloat(tape.apply("LessOrEqual", [tape.apply("Abs", [distance]), bound]));
  const slope = tape.apply("Mul", [tape.apply("Sub", [graph.scalar(1), tape.apply("Exp", [clamp(distance)])]), near]);
  const divergence = tape.apply("Mul", [slope, term("klWeight")]);
  return tape.apply("Sub", [tape.apply("Add", [policy, divergence]), term("likelihoodWeight")]);
}

/**
 * Adds the head to the graph. `hidden` [M, hiddenSize] are the normalised rows, `matrix` [V, hiddenSize]. Declares the inputs
 * `labels` [M, 1], `terms` [M, 8] (with gradients) and, when masked, `maskTable` and `maskIndex`; the outputs `logprobs` [M, 1]
 * and `entropies` [M, 1]; where the matrix is trained also `labelGradient` [M, hiddenSize], the part of its gradient that falls on
 * the rows of the labels and is added on the host.
 */
export function headLoss(tape: Tape, hidden: Value, matrix: Value, vocabularySize: number, hiddenSize: number, variant: HeadVariant): void {
  const { graph, differentiate } = tape;
  const labels = graph.input("labels", "int64", ["M", 1]);
  const terms = differentiate ? graph.input("terms", "float", ["M", termColumns.length]) : undefined;
  const maskIndex = variant.masked ? graph.input("maskIndex", "int64", ["M"]) : undefined;
  if (variant.masked) graph.input("maskTable", "float", ["K", vocabularySize]);

  const cut = (value: Value): Value[] =>
    variant.chunks === 1 ? [value] : graph.node("Split", [value], variant.chunks, { axis: 0, num_outputs: variant.chunks });
  const parts = { hidden: cut(hidden), labels: cut(labels), terms: terms && cut(terms), maskIndex: maskIndex && cut(maskIndex) };
  const logprobs: Value[] = [];
  const entropies: Value[] = [];
  const hiddenGradients: Value[] = [];
  const labelGradients: Value[] = [];
  for (let index = 0; index < variant.chunks; index++) {
    const chunk: ChunkInputs = {
      hidden: parts.hidden[index] as Value,
      labels: parts.labels[index] as Value,
      terms: parts.terms?.[index],
      maskIndex: parts.maskIndex?.[index],
    };
    const result = distribution(tape, matrix, chunk);
    logprobs.push(result.logprob);
    entropies.push(result.entropy);
    if (chunk.terms === undefined) continue;
    const gradients = chunkGradients(tape, matrix, chunk, chunk.terms, result, variant.entropyBonus);
    hiddenGradients.push(gradients.hidden);
    labelGradients.push(gradients.label);
  }
  const join = (values: readonly Value[], name: string, columns: number) => {
    graph.node("Concat", values, [name], { axis: 0 });
    graph.output(name, "float", ["M", columns]);
  };
  join(logprobs, "logprobs", 1);
  join(entropies, "entropies", 1);
  if (terms === undefined) return;
  if (tape.isTracked(matrix)) join(labelGradients, "labelGradient", hiddenSize);
  tape.setGradient(hidden, variant.chunks === 1 ? (hiddenGradients[0] as Value) : tape.apply("Concat", hiddenGradients, { axis: 0 }));
}

function chunkGradients(tape: Tape, matrix: Value, chunk: ChunkInputs, terms: Value, result: ChunkDistribution, entropyBonus: boolean) {
  const { graph } = tape;
  const columns = graph.node("Split", [terms], termColumns.length, { axis: 1, num_outputs: termColumns.length });
  const term = (column: TermColumn) => columns[termColumns.indexOf(column)] as Value;
  const slope = coefficient(tape, result.logprob, term);
  // d logits = slope * (onehot - p): the one-hot part never becomes a matrix, and the p part is scaled after the products
  // (on [m, hidden]) instead of on [m, V].
  const labelRows = tape.apply("Gather", [matrix, tape.apply("Reshape", [chunk.labels, graph.integers(-1)])], { axis: 0 });
  const labelPart = tape.apply("Mul", [labelRows, slope]);
  const label = tape.apply("Mul", [chunk.hidden, slope]);
  if (!entropyBonus) {
    const expected = tape.apply("MatMul", [result.probabilities, matrix]);
    tape.accumulateProduct(matrix, result.probabilities, tape.apply("Neg", [label]), { transA: 1 });
    return { hidden: tape.apply("Sub", [labelPart, tape.apply("Mul", [expected, slope])]), label };
  }
  // d(-c w H) / d logits = c w p (logp + H): joined with the p part as p * (weight * logit + row).
  const weight = term("entropyWeight");
  const shift = tape.apply("Mul", [weight, tape.apply("Sub", [result.entropy, result.logSumExp])]);
  const row = tape.apply("Sub", [shift, slope]);
  const scaled = tape.apply("Add", [tape.apply("Mul", [result.logits, weight]), row]);
  const dLogits = tape.apply("Mul", [scaled, result.probabilities]);
  tape.accumulateProduct(matrix, dLogits, chunk.hidden, { transA: 1 });
  return { hidden: tape.apply("Gemm", [dLogits, matrix, labelPart]), label };
}
