import { describe, expect, test } from "vitest";
import { tinyConfig, tinyWiring } from "../../test/fixtures/training/tiny-run.ts";
import { agentProtocolFor } from "../agent/agent-protocol.ts";
import type { Config } from "../config.ts";
import { InfrastructureError } from "../errors.ts";
import { createSearch, rankerProtocolFor } from "../ranker/systems.ts";
import { evaluate } from "./evaluate.ts";
import { isMeasured, metricContribution, single } from "./metrics.ts";

async function records(system: Config["system"], batchQuestions = 2) {
  const config = tinyConfig({ system });
  const wiring = tinyWiring();
  const ranker = { sampler: wiring.ranker.engine, protocol: rankerProtocolFor(config, wiring.ranker.renderer) };
  return evaluate({
    questions: wiring.trainQuestions,
    protocol: agentProtocolFor(config, wiring.main.renderer),
    sampler: wiring.main.engine,
    search: createSearch(config, { retriever: wiring.retriever, ranker }, "evaluation"),
    limits: config.agent,
    scoring: { answerProfile: "squad", reward: config.reward },
    batchQuestions,
  });
}

describe("evaluate", () => {
  test("gives one record a question, in order, whatever the batch size", async () => {
    const small = await records("cosearch", 1);
    const large = await records("cosearch", 100);
    expect(small.map(({ questionId }) => questionId)).toEqual(tinyWiring().trainQuestions.map(({ id }) => id));
    expect(small.map(({ answer }) => answer)).toEqual(large.map(({ answer }) => answer));
  });

  test("records what the agent saw and what the ranker did", async () => {
    const searches = (await records("cosearch")).flatMap(({ turns }) => turns.flatMap(({ search }) => search ?? []));
    expect(searches.length).toBeGreaterThan(0);
    for (const search of searches) {
      expect(search.shownRanks.length).toBe(2);
      const shown = search.shownRanks.map((rank) => search.candidates.find((candidate) => candidate.rank === rank));
      expect(search.hitAt1).toBe(shown[0]?.relevant);
      expect(search.hitAtK).toBe(shown.some((candidate) => candidate?.relevant));
      expect(search.answerInCandidates).toBe(search.candidates.some(({ relevant }) => relevant));
      if (search.ranker && search.ranker.malformed === undefined) expect(search.ranker.reason).toBe("fits");
      else expect(search.shownRanks).toEqual([1, 2]);
    }
  });

  test("the oracle shows an answer first wherever there is one; systems without a ranker have no ranker figures", async () => {
    const oracle = await records("oracle");
    expect(single("hit1", oracle)).toBe(1);
    expect(isMeasured("rankerFormatValid", [oracle])).toBe(false);
    expect(isMeasured("rankerFormatValid", [await records("fixed-ranker")])).toBe(true);
  });

  test("an answer after a format error scores nothing", async () => {
    for (const record of await records("retrieval-only")) {
      if (!record.formatValid) expect([record.f1, record.em]).toEqual([0, 0]);
      expect(metricContribution("searches", record).numerator).toBe(record.turns.filter(({ search }) => search).length);
    }
  });

  test("a failing service is an error, not a zero", async () => {
    const config = tinyConfig();
    const wiring = tinyWiring();
    const failing = evaluate({
      questions: wiring.trainQuestions,
      protocol: agentProtocolFor(config, wiring.main.renderer),
      sampler: wiring.main.engine,
      search: async () => {
        throw new InfrastructureError("the index is gone");
      },
      limits: config.agent,
      scoring: { answerProfile: "squad", reward: config.reward },
      batchQuestions: 4,
    });
    await expect(failing).rejects.toThrow(/question .*: the index is gone/);
  });
});
