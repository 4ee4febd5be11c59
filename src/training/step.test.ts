import { beforeAll, describe, expect, it } from "vitest";
import { type ConfigChange, rankerScript, tinyConfig, tinyWiring } from "../../test/fixtures/training/tiny-run.ts";
import { questions } from "../../test/fixtures/training/tiny-world.ts";
import { agentProtocolFor } from "../agent/agent-protocol.ts";
import { InfrastructureError } from "../errors.ts";
import { createSearch, rankerProtocolFor } from "../ranker/systems.ts";
import { batchedRetriever } from "../retrieval/batched-retriever.ts";
import type { Retriever } from "../retrieval/retriever.ts";
import { type StepResult, trainStep } from "./step.ts";

/** One step on scripted engines. */
async function step(
  change: ConfigChange = {},
  scripts: Parameters<typeof tinyWiring>[0] = {},
  retriever?: Retriever,
  wiring = tinyWiring(scripts),
) {
  const config = tinyConfig(change);
  const ranker = { ...wiring.ranker, protocol: rankerProtocolFor(config, wiring.ranker.renderer) };
  const parts = {
    retriever: batchedRetriever(retriever ?? wiring.retriever),
    ranker: { sampler: ranker.engine, protocol: ranker.protocol },
  };
  const context = {
    config,
    protocol: agentProtocolFor(config, wiring.main.renderer),
    search: createSearch(config, parts, "training"),
    publish: async () => ({
      main: await wiring.main.engine.publish(),
      ...(config.system === "cosearch" ? { ranker: await ranker.engine.publish() } : {}),
    }),
    main: wiring.main,
    ...(config.system === "cosearch" ? { ranker } : {}),
  };
  const result = await trainStep(context, { step: 1, questions: questions.slice(0, 3) });
  return { result, main: wiring.main.engine, ranker: wiring.ranker.engine };
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

describe("one joint step", () => {
  let result: StepResult;
  let main: Awaited<ReturnType<typeof step>>["main"];
  let ranker: Awaited<ReturnType<typeof step>>["ranker"];
  beforeAll(async () => {
    ({ result, main, ranker } = await step());
  });

  it("rolls out G trajectories a question with streams of their own", () => {
    expect(result.mainGroups.map(({ members }) => members.length)).toEqual([4, 4, 4]);
    const first = main.requests.slice(0, 12).map(({ seed }) => seed);
    expect(new Set(first).size).toBe(12);
  });

  it("compares trajectories within their question, ranker calls within semantic groups of it", () => {
    for (const { advantages, members, key } of result.mainGroups) {
      expect(sum(advantages)).toBeCloseTo(0, 9);
      expect(members.every(({ question }) => question.id === key)).toBe(true);
    }
    expect(result.rankerGroups.flat().length).toBeGreaterThan(0);
    for (const group of result.rankerGroups.flat()) {
      expect(sum(group.advantages)).toBeCloseTo(0, 9);
      expect(group.members.length).toBeGreaterThanOrEqual(2);
      expect(group.members.every(({ answerInCandidates }) => answerInCandidates === group.answerInCandidates)).toBe(true);
    }
  });

  it("trains on the sampled tokens verbatim, weighted over the whole minibatch", () => {
    // 3 questions in minibatches of 2: two optimiser steps at most, each with weights that would sum to 1 over all its examples.
    expect(main.updates.length).toBeLessThanOrEqual(2);
    const outputs = new Set(
      result.mainGroups.flatMap(({ members }) =>
        members.map(({ trajectory }) => trajectory.turns.flatMap(({ output }) => output.tokenIds).join()),
      ),
    );
    for (const { examples } of main.updates) {
      for (const { tokenIds, mask, policy } of examples) {
        expect(policy).toBe("main");
        expect(outputs.has(tokenIds.filter((_, index) => mask[index] === 1).join())).toBe(true);
      }
      expect(sum(examples.flatMap(({ weights }) => weights))).toBeLessThanOrEqual(1 + 1e-9);
    }
    expect(ranker.updates.flatMap(({ examples }) => examples).every(({ policy }) => policy === "ranker")).toBe(true);
  });

  it("leaves ranker calls of malformed trajectories out", () => {
    const malformed = result.mainGroups.flatMap(({ members }) => members.filter(({ reward }) => !reward.formatValid));
    const trained = result.rankerGroups
      .flat()
      .flatMap(({ members }) => members.map(({ call }) => `${call.questionId} ${call.trajectoryIndex}`));
    for (const { trajectory } of malformed) expect(trained).not.toContain(`${trajectory.questionId} ${trajectory.index}`);
    expect(result.metrics.rankerCallsScored).toBeLessThanOrEqual(result.metrics.rankerCalls);
  });

  it("measures what it did", () => {
    const { metrics } = result;
    const rewards = result.mainGroups.flatMap(({ members }) => members.map(({ reward }) => reward.total));
    expect(metrics.mainReward).toBeCloseTo(sum(rewards) / rewards.length, 12);
    expect(metrics).toMatchObject({
      step: 1,
      trajectories: 12,
      infraFailed: 0,
      mainGroups: 3,
      mainEntropy: 0.5,
      rankerEntropy: 0.5,
      mainLogprobGap: 0,
    });
    expect(metrics.groupsKept ?? 0).toBeLessThanOrEqual(metrics.groupsFormed ?? 0);
    expect(metrics.rankerCallsDropped).toBe(
      metrics.rankerCallsScored - sum(result.rankerGroups.flat().map(({ members }) => members.length)),
    );
    expect(JSON.parse(JSON.stringify(metrics))).toEqual(
      JSON.parse(JSON.stringify(metrics, (_, value) => (Number.isNaN(value) ? "NaN" : value))),
    );
  });
});

describe("the step's rules", () => {
  const right = (prompt: string) =>
    prompt.includes("<observation>")
      ? "<reason>found</reason><answer>nowhere</answer>"
      : '<reason>look</reason><tool_call>{"name":"search","arguments":{"query":"capital"}}</tool_call>';

  it.each([0, 0.01])("makes no update from constant groups without a KL term (entropy coefficient %d)", async (entropyCoefficient) => {
    const { result, main } = await step({ training: { main: { entropyCoefficient } } }, { main: right });
    expect(result.metrics.mainZeroVarianceGroups).toBe(3);
    expect(main.updates).toEqual([]);
    expect(main.learningRates).toEqual([]);
    expect(result.metrics.mainGradientNorm).toBeUndefined();
  });

  it("keeps constant groups in the token mean", async () => {
    // Only the first question's trajectories differ, so only they are sent; their weights are shares of all tokens of the minibatch.
    const mixed = (prompt: string, draw: number) =>
      /^<question>[^<]*norway$/.test(prompt) && draw % 2 === 0 ? "<reason>x</reason><answer>oslo</answer>" : right(prompt);
    const { main } = await step({ training: { questionsPerMinibatch: 3 } }, { main: mixed });
    const [update] = main.updates;
    expect(update?.examples.length).toBe(4);
    expect(sum(update?.examples.flatMap(({ weights }) => weights) ?? [])).toBeLessThan(0.7);
  });

  it("does not train the fixed ranker, and samples it greedily", async () => {
    const { result, ranker } = await step({ system: "fixed-ranker" });
    expect(ranker.updates).toEqual([]);
    expect(ranker.requests.every(({ temperature }) => temperature === 0)).toBe(true);
    expect(result.metrics.rankerEntropy).toBeUndefined();
  });

  it("needs no log-probabilities of a fixed ranker, which a server may not tell", async () => {
    const wiring = tinyWiring();
    const { engine } = wiring.ranker;
    const sample = engine.sample.bind(engine);
    engine.sample = async (request) => (await sample(request)).map((output) => ({ ...output, logprobs: [] }));
    const { result } = await step({ system: "fixed-ranker" }, {}, undefined, wiring);
    expect(result.metrics.groupsKept).toBeGreaterThan(0);
  });

  it("leaves trajectories with a failing service out of groups and training", async () => {
    const failing: Retriever = {
      name: "failing",
      search: async (queries) => queries.map(() => []),
      searchEach: async (queries) =>
        queries.map((query) =>
          query === "capital"
            ? { status: "rejected", reason: new InfrastructureError("connection refused") }
            : { status: "fulfilled", value: [] },
        ),
    };
    const either = (prompt: string, draw: number) => (draw % 2 === 0 ? right(prompt) : right(prompt).replace("capital", "city"));
    const { result } = await step({ system: "retrieval-only" }, { main: either }, failing);
    expect(result.metrics.infraFailed).toBeGreaterThan(0);
    expect(result.metrics.infraFailed).toBeLessThan(12);
    expect(result.mainGroups.flatMap(({ members }) => members)).toHaveLength(12 - result.metrics.infraFailed);
  });

  it("scores ranker calls of malformed trajectories 0 under the published code's rule", async () => {
    const broken = (prompt: string) => (prompt.includes("<observation>") ? "<answer>" : right(prompt));
    const { result } = await step({ training: { excludeFormatFailures: false } }, { main: broken });
    const rewards = result.rankerGroups.flat().flatMap(({ members }) => members.map(({ reward }) => reward.total));
    expect(rewards.length).toBeGreaterThan(0);
    expect(new Set(rewards)).toEqual(new Set([0]));
    expect((await step({}, { main: broken })).result.metrics.rankerCallsScored).toBe(0);
  });

  it("adds the supervised anchor on the best trajectory of each group", async () => {
    const { main, result } = await step({ training: { supervisedAnchor: 0.5, questionsPerMinibatch: 3 } });
    const anchors = main.updates.filter(({ loss }) => loss.kind === "cross-entropy");
    const solved = result.mainGroups.filter(({ members }) => members.some(({ reward }) => reward.total > 0));
    expect(solved.length).toBeGreaterThan(0);
    expect(anchors[0]?.examples).toHaveLength(solved.length);
    expect(sum(anchors[0]?.examples.flatMap(({ weights }) => weights) ?? [])).toBeCloseTo(0.5, 12);
  });

  it("refuses tokens of stale weights", async () => {
    const config = tinyConfig({ system: "retrieval-only" });
    const wiring = tinyWiring();
    const search = createSearch(config, { retriever: batchedRetriever(wiring.retriever) }, "training");
    const context = {
      config,
      protocol: agentProtocolFor(config, wiring.main.renderer),
      search,
      publish: async () => ({ main: 4 }),
      main: wiring.main,
    };
    await expect(trainStep(context, { step: 1, questions: questions.slice(0, 3) })).rejects.toThrow(/version 0, but 4 is published/);
    expect(wiring.main.engine.updates).toEqual([]);
  });

  it("serves equal queries of one moment with one search and answers all", async () => {
    const seen: (readonly string[])[] = [];
    const counting: Retriever = {
      name: "counting",
      search: (queries, topK) => {
        seen.push(queries);
        return tinyWiring().retriever.search(queries, topK);
      },
    };
    await step({ system: "oracle" }, { main: right, ranker: rankerScript }, counting);
    expect(seen).toEqual([["capital"]]);
  });
});
