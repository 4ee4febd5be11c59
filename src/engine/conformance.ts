/** What every TrainableEngine must do. One list of checks for all of them, tied to no test runner: a check throws when it fails. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { Rng } from "../rng.ts";
import type { SampledTokens } from "../types.ts";
import type { Loss, OptimStepOptions, SampleRequest, ScoredSequence, TokenGrammar, TrainableEngine, TrainingExample } from "./engine.ts";

/** The engine under test. */
export interface ConformanceSubject {
  /** A fresh engine; every call gives the same weights. */
  makeEngine(): Promise<TrainableEngine>;
  /** At least 16; token ids below this are used. */
  readonly vocabularySize: number;
  /** An empty folder to save states in. */
  makeFolder(): Promise<string>;
}

/** One rule of the contract; `run` throws when the engine breaks it. */
export interface ConformanceCheck {
  readonly name: string;
  run(): Promise<void>;
}

const adamW: OptimStepOptions = { learningRate: 5e-3, beta1: 0.9, beta2: 0.99, eps: 1e-8, weightDecay: 0.01, maxGradNorm: 1 };
const crossEntropy: Loss = { kind: "cross-entropy" };
const surrogate: Loss = {
  kind: "clipped-surrogate",
  clipLow: 0.2,
  clipHigh: 0.2,
  dualClip: 3,
  klCoefficient: 0.01,
  entropyCoefficient: 0.01,
};

/** All checks; they are independent of one another. */
export function conformanceChecks(subject: ConformanceSubject): ConformanceCheck[] {
  const check = (name: string, run: (engine: TrainableEngine) => Promise<void>): ConformanceCheck => ({
    name,
    run: async () => {
      const engine = await subject.makeEngine();
      try {
        await run(engine);
      } finally {
        await engine.close();
      }
    },
  });
  const size = subject.vocabularySize;
  const prompts = (count: number) =>
    Array.from({ length: count }, (_, index) => randomTokens(Rng.stream(index, "prompt"), 3 + 5 * index, size));
  const requests = (count: number): SampleRequest[] =>
    prompts(count).map((promptTokenIds, index) => ({ promptTokenIds, samples: 2, maxTokens: 12, seed: index }));

  return [
    check("training log-probabilities are those of sampling", async (engine) => {
      await assertScoresAgree(engine, requests(4));
    }),
    check("they agree under a grammar, which outputs keep to", async (engine) => {
      const grammar = alternatingGrammar(size);
      const outputs = await assertScoresAgree(
        engine,
        requests(4).map((request) => ({ ...request, grammar })),
      );
      for (const { tokenIds } of outputs) assertKeepsTo(grammar, tokenIds);
    }),
    check("they agree after training and publishing", async (engine) => {
      await engine.forwardBackward(examples(size), crossEntropy);
      await engine.optimStep(adamW);
      await engine.publish();
      await assertScoresAgree(engine, requests(3));
    }),
    check("the same calls give the same bits, the same seed the same tokens, another seed others", async (engine) => {
      const [request] = requests(1) as [SampleRequest];
      const first = await engine.sample(request);
      const tokens = (outputs: readonly SampledTokens[]) => outputs.map(({ tokenIds }) => tokenIds);
      assert.deepEqual(tokens(await engine.sample(request)), tokens(first));
      assert.notDeepEqual(tokens(await engine.sample({ ...request, seed: 77 })), tokens(first));
      assert.notDeepEqual(first[0]?.tokenIds, first[1]?.tokenIds);
      const other = await subject.makeEngine();
      try {
        assert.deepEqual(await other.sample(request), first);
      } finally {
        await other.close();
      }
    }),
    check("what else is in the batch does not matter", async (engine) => {
      const alone: SampledTokens[][] = [];
      for (const request of requests(5)) alone.push(await engine.sample(request));
      const together = await Promise.all(requests(5).map((request) => engine.sample(request)));
      const tokens = (outputs: readonly SampledTokens[][]) => outputs.map((list) => list.map(({ tokenIds }) => tokenIds));
      assert.deepEqual(tokens(together), tokens(alone));
    }),
    check("a longer conversation continues as if it were new", async (engine) => {
      const [request] = requests(2).slice(1) as [SampleRequest];
      const [turn] = await engine.sample({ ...request, samples: 1 });
      const longer = [...request.promptTokenIds, ...(turn as SampledTokens).tokenIds, 1, 2, 3];
      await assertScoresAgree(engine, [{ ...request, promptTokenIds: longer }]);
    }),
    check("stop tokens end an output and are part of it", async (engine) => {
      const [request] = requests(1) as [SampleRequest];
      const [free] = await engine.sample({ ...request, samples: 1 });
      const { tokenIds } = free as SampledTokens;
      assert.equal(tokenIds.length, 12);
      assert.equal(free?.finishReason, "length");
      const stop = tokenIds[5] as number;
      const [stopped] = await engine.sample({ ...request, samples: 1, stop: { tokenIds: [stop] } });
      assert.deepEqual(stopped?.tokenIds, tokenIds.slice(0, tokenIds.indexOf(stop) + 1));
      assert.equal(stopped?.finishReason, "stop");
    }),
    check("greedy outputs do not depend on the seed, and take the most probable token", async (engine) => {
      const [request] = requests(1) as [SampleRequest];
      const [first] = await engine.sample({ ...request, samples: 1, temperature: 0 });
      const [second] = await engine.sample({ ...request, samples: 1, temperature: 0, seed: 5 });
      const [nucleus] = await engine.sample({ ...request, samples: 1, topP: 1e-6, seed: 6 });
      assert.deepEqual(second?.tokenIds, first?.tokenIds);
      assert.deepEqual(nucleus?.tokenIds, first?.tokenIds);
    }),
    check("gradients of several calls add up to those of one", async (engine) => {
      const other = await subject.makeEngine();
      try {
        const batch = examples(size);
        await engine.forwardBackward(batch, surrogate);
        for (const example of batch) await other.forwardBackward([example], surrogate);
        const whole = await engine.optimStep(adamW);
        const parts = await other.optimStep(adamW);
        assertClose(parts.gradientNorm, whole.gradientNorm, 1e-4 * whole.gradientNorm, "gradient norm");
        assertListsClose(await other.logprobs(batch), await engine.logprobs(batch), 1e-3, "log-probabilities after the step");
      } finally {
        await other.close();
      }
    }),
    check("tokens of mask or weight 0 leave no gradient", async (engine) => {
      const silent = examples(size).map((example) => ({ ...example, weights: example.weights.map(() => 0) }));
      const result = await engine.forwardBackward(silent, surrogate);
      assert.equal(result.tokens, 0);
      assert.equal(result.loss, 0);
      assert.equal((await engine.optimStep(adamW)).gradientNorm, 0);
    }),
    check("cross-entropy training lowers the loss", async (engine) => {
      const batch = examples(size);
      const first = await engine.forwardBackward(batch, crossEntropy);
      for (let step = 1; step <= 8; step++) {
        assert.equal((await engine.optimStep(adamW)).step, step);
        await engine.forwardBackward(batch, crossEntropy);
      }
      await engine.optimStep(adamW);
      const last = await engine.forwardBackward(batch, crossEntropy);
      assert.ok(last.loss < 0.9 * first.loss, `the loss went from ${first.loss} to ${last.loss} in 9 steps`);
    }),
    check("a saved state continues to the same bits", async (engine) => {
      const folder = join(await subject.makeFolder(), "state");
      const batch = examples(size);
      const train = async (trained: TrainableEngine) => {
        await trained.forwardBackward(batch, surrogate);
        await trained.optimStep(adamW);
        const version = await trained.publish();
        return { version, scores: await trained.logprobs(batch), outputs: await trained.sample(requests(1)[0] as SampleRequest) };
      };
      await train(engine);
      await engine.saveState(folder);
      const unbroken = await train(engine);
      const other = await subject.makeEngine();
      try {
        await other.loadState(folder);
        assert.deepEqual(await train(other), unbroken);
      } finally {
        await other.close();
      }
    }),
    check("outputs carry the version of the published weights", async (engine) => {
      const [request] = requests(1) as [SampleRequest];
      const [before] = await engine.sample(request);
      const version = await engine.publish();
      const [after] = await engine.sample(request);
      assert.equal(after?.policyVersion, version);
      assert.notEqual(before?.policyVersion, version);
    }),
    check("an aborted request is rejected with the signal's reason", async (engine) => {
      const controller = new AbortController();
      const [request] = requests(1) as [SampleRequest];
      const sampled = engine.sample({ ...request, signal: controller.signal });
      controller.abort(new Error("enough"));
      await assert.rejects(sampled, /enough/);
      assert.equal((await engine.sample(request)).length, 2);
    }),
    check("an empty prompt is refused", async (engine) => {
      await assert.rejects(engine.sample({ promptTokenIds: [], maxTokens: 1, seed: 1 }), /prompt is empty/);
    }),
  ];
}

function randomTokens(rng: Rng, count: number, size: number): number[] {
  return Array.from({ length: count }, () => rng.integer(size));
}

/** Ragged examples in which every field matters. */
function examples(size: number): TrainingExample[] {
  return Array.from({ length: 4 }, (_, index) => {
    const rng = Rng.stream(index, "example");
    const tokenIds = randomTokens(rng, 6 + 3 * index, size);
    const mask = tokenIds.map((_, position): 0 | 1 => (position > 2 && position % 4 !== 0 ? 1 : 0));
    const masked = (make: () => number) => mask.map((one) => (one === 1 ? make() : 0));
    return {
      policy: "main",
      groupKey: "group",
      tokenIds,
      mask,
      logprobs: masked(() => -Math.log(size) + 0.2 * rng.normal()),
      advantages: masked(() => rng.normal()),
      weights: masked(() => 0.1),
      referenceLogprobs: masked(() => -Math.log(size) + 0.2 * rng.normal()),
    };
  });
}

/** Text, then a mark, then up to two distinct labels. */
function alternatingGrammar(size: number): TokenGrammar {
  const [mark, first, second, third] = [size - 1, size - 2, size - 3, size - 4] as [number, number, number, number];
  return {
    id: "alternating",
    start: 0,
    states: [
      { onText: 1, onToken: [] },
      { onText: 1, onToken: [[mark, 2]] },
      { onToken: [first, second, third].map((label) => [label, 3] as const), distinct: true },
      { onToken: [...[first, second, third].map((label) => [label, 3] as const), [mark, 0]], distinct: true },
    ],
    reservedTokenIds: [mark, first, second, third],
  };
}

function assertKeepsTo(grammar: TokenGrammar, tokenIds: readonly number[]): void {
  let place = grammar.start;
  const used = new Set<number>();
  for (const token of tokenIds) {
    const state = grammar.states[place];
    const named = state?.onToken.find(([candidate]) => candidate === token);
    const next = grammar.reservedTokenIds.includes(token) ? named?.[1] : state?.onText;
    assert.notEqual(next, undefined, `token ${token} is not allowed in state ${place} (${tokenIds.join()})`);
    if (state?.distinct && named !== undefined) {
      assert.ok(!used.has(token), `token ${token} came twice in a distinct state (${tokenIds.join()})`);
      used.add(token);
    }
    place = next as number;
  }
}

/** Samples the requests as one batch and compares the reported log-probabilities with the training side's. */
async function assertScoresAgree(engine: TrainableEngine, requests: readonly SampleRequest[]): Promise<SampledTokens[]> {
  const outputs = await Promise.all(requests.map((request) => engine.sample(request)));
  const sampled = outputs.flatMap((list, index) => list.map((output) => ({ request: requests[index] as SampleRequest, output })));
  const sequences = sampled.map(
    ({ request, output }): ScoredSequence => ({
      tokenIds: [...request.promptTokenIds, ...output.tokenIds],
      mask: [...request.promptTokenIds.map((): 0 => 0), ...output.tokenIds.map((): 1 => 1)],
      grammar: request.grammar,
    }),
  );
  const scored = await engine.logprobs(sequences);
  sampled.forEach(({ request, output }, index) => {
    assertListsClose(
      [(scored[index] as number[]).slice(request.promptTokenIds.length)],
      [output.logprobs],
      1e-4,
      "training log-probabilities",
    );
  });
  return outputs.flat();
}

function assertListsClose(
  lists: readonly (readonly number[])[],
  expected: readonly (readonly number[])[],
  tolerance: number,
  what: string,
): void {
  assert.equal(lists.length, expected.length);
  lists.forEach((list, index) => {
    assert.equal(list.length, expected[index]?.length);
    list.forEach((value, place) => {
      assertClose(value, expected[index]?.[place] as number, tolerance, `${what} [${index}][${place}]`);
    });
  });
}

function assertClose(value: number, expected: number, tolerance: number, what: string): void {
  assert.ok(Math.abs(value - expected) <= tolerance, `${what}: ${value}, expected ${expected} within ${tolerance}`);
}
