/** Logits, greedy continuations and gradients of one loaded model, ours against the peer's. */
import { join } from "node:path";
import type { LineProcess } from "./line-process.ts";
import { largestDifference, type TensorDifference, withTensors, worse } from "./parity-differences.ts";
import type { ParityReport } from "./parity-report.ts";
import { type ParitySide, parityLoss } from "./parity-side.ts";

/** What every comparison needs. The peer has the model loaded that our side has. */
export interface ParityRun {
  readonly peer: LineProcess;
  readonly report: ParityReport;
  /** For files that pass between the sides. */
  readonly folder: string;
  readonly threads: number;
  readonly quick: boolean;
}

const executions = ["whole-graph", "layer-by-layer"] as const;
const logitBound = 1e-3;
const gradientBound = 1e-3;
/** A token that flips where the peer's logits differ by less than this is a tie, not a disagreement. */
const tieMargin = 1e-4;
const comparedPositions = 5;
/** Below this a probability is near the smallest float, which has too few digits to compare. */
const leastLogprob = -80;

/**
 * Logits up to the constant that a softmax does not see: log-probabilities over the whole vocabulary by the sampling graphs (prefill and
 * steps), and those of the texts' own tokens by the training graphs, at every position.
 */
export async function compareLogits(
  model: string,
  side: ParitySide,
  sequences: readonly (readonly number[])[],
  run: ParityRun,
): Promise<void> {
  const path = join(run.folder, "scores.safetensors");
  await run.peer.request({ task: "score", sequences, last: comparedPositions, file: path });
  const { vocabularySize } = side.parameters.shape;
  await withTensors(path, async (read) => {
    let sampling = 0;
    for (const [index, tokenIds] of sequences.entries()) {
      const expected = await read(`distributions.${index}`);
      for (const [position, found] of (await side.distributions(tokenIds, comparedPositions)).entries()) {
        const row = expected.subarray(position * vocabularySize, (position + 1) * vocabularySize);
        sampling = Math.max(
          sampling,
          largestDifference(row, found, (logprob) => logprob <= leastLogprob),
        );
      }
    }
    const figures = { sequences: sequences.length, positions: sequences.length * comparedPositions, vocabulary: vocabularySize };
    run.report.check({ check: "log-probabilities, sampling graphs", model, ...figures }, sampling, logitBound);
    for (const execution of executions) {
      const found = await side.logprobs(sequences, execution);
      let training = 0;
      for (const index of sequences.keys()) {
        training = Math.max(training, largestDifference(await read(`logprobs.${index}`), found[index] ?? []));
      }
      const tokens = sequences.reduce((sum, { length }) => sum + length - 1, 0);
      run.report.check({ check: `log-probabilities, training graphs, ${execution}`, model, tokens }, training, logitBound);
    }
  });
}

/** Greedy continuations, ours in one batch. A flip within the peer's own rounding is reported with its margin, any other one is a failure. @returns ours. */
export async function compareGreedy(
  model: string,
  side: ParitySide,
  prompts: readonly (readonly number[])[],
  run: ParityRun,
): Promise<number[][]> {
  const tokens = run.quick ? 16 : 64;
  const ours = await side.sample(prompts, tokens, 0);
  const { outputs } = await run.peer.request<{ outputs: number[][] }>({ task: "greedy", prompts, tokens });
  const flips: { prompt: number; token: number; margin: number }[] = [];
  for (const [index, prompt] of prompts.entries()) {
    const [mine, theirs] = [ours[index] as number[], outputs[index] as number[]];
    const token = theirs.findIndex((id, place) => id !== mine[place]);
    if (token < 0) continue;
    const request = { task: "margin", tokenIds: [...prompt, ...theirs.slice(0, token)], first: theirs[token], second: mine[token] };
    const { margin } = await run.peer.request<{ margin: number }>(request);
    flips.push({ prompt: index, token, margin });
  }
  const failures = flips.filter(({ margin }) => !(Math.abs(margin) < tieMargin)).length;
  run.report.check(
    { check: "greedy continuations that differ", model, prompts: prompts.length, tokens, nearTies: flips.length - failures, flips },
    failures,
    0,
  );
  return ours;
}

/** The peer's loss, its parts and every gradient, each relative to its largest entry. */
export async function compareGradients(
  model: string,
  side: ParitySide,
  prompts: readonly (readonly number[])[],
  run: ParityRun,
): Promise<void> {
  const path = join(run.folder, "gradients.safetensors");
  const examples = await side.batch(prompts, run.quick ? 16 : 48);
  type Expected = Record<"loss" | "tokens" | "clipFraction" | "dualClipped" | "kl" | "entropy", number>;
  const expected = await run.peer.request<Expected>({ task: "gradient", examples, options: parityLoss, file: path });
  for (const execution of executions) {
    const { result, gradients } = await side.gradients(examples, execution);
    const parts = {
      tokens: result.tokens,
      clipFraction: result.clipFraction,
      dualClipped: expected.dualClipped,
      kl: result.kl,
      entropy: result.entropy,
    };
    const relative = (field: "loss" | "kl" | "entropy") => Math.abs(result[field] - expected[field]) / Math.abs(expected[field]);
    run.report.check({ check: `GRPO loss, ${execution}`, model, loss: result.loss, ...parts }, relative("loss"), gradientBound);
    run.report.check(
      { check: `GRPO divergence and entropy, ${execution}`, model },
      Math.max(relative("kl"), relative("entropy")),
      gradientBound,
    );
    const counts = Math.abs(result.tokens - expected.tokens) + Math.abs(result.clipFraction - expected.clipFraction) * expected.tokens;
    run.report.check({ check: `trained and clipped tokens counted otherwise, ${execution}`, model }, Math.round(counts), 0);
    await withTensors(path, async (read, names) => {
      const unlike = { name: `${names.length} tensors, ours ${gradients.size}`, value: Number.NaN };
      let worst: TensorDifference = names.length === gradients.size ? { name: "", value: 0 } : unlike;
      for (const name of names) {
        const theirs = await read(name);
        const scale = largestDifference(theirs, new Float32Array(theirs.length));
        worst = worse(worst, { name, value: largestDifference(theirs, gradients.get(name) ?? []) / scale });
      }
      run.report.check({ check: `gradients, ${execution}`, model, tensors: names.length, worst: worst.name }, worst.value, gradientBound);
    });
  }
}
