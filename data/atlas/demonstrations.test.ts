import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { parseTurn } from "../../src/agent/parse-turn.ts";
import { parseRanking } from "../../src/ranker/parse-ranking.ts";
import { Rng } from "../../src/rng.ts";
import type { Demonstration } from "../../src/training/warm-start.ts";
import { agentDemonstration, pieceId, rankerDemonstration } from "./demonstrations.ts";
import { atlasFolder, loadSetting, type Setting } from "./setting.ts";
import { maxPositions } from "./tokenizer.ts";
import { pieces } from "./vocabulary.ts";

let setting: Setting;
let questions: ReturnType<Setting["world"]["questions"]>;

beforeAll(async () => {
  setting = await loadSetting(join(atlasFolder, "agent"));
  const train = setting.world.questions("train");
  questions = Array.from({ length: 60 }, (_, index) => Rng.stream(7, index).pick(train));
});

/** The text between a `<reason>` and the first of `ends` after it, both included, for every `<reason>`. */
function outputs(demonstration: Demonstration, ends: readonly string[]): string[] {
  const reason = pieceId(setting.renderer, pieces.reason);
  const endIds = ends.map((end) => pieceId(setting.renderer, end));
  const { tokenIds } = demonstration;
  return tokenIds.flatMap((tokenId, start) => {
    if (tokenId !== reason) return [];
    const length = tokenIds.slice(start).findIndex((id) => endIds.includes(id));
    return [setting.renderer.decode(tokenIds.slice(start, start + length + 1))];
  });
}

describe("an agent's demonstration", () => {
  it("is turns that the protocol accepts: searches, then one answer at the end", async () => {
    for (const [index, question] of questions.entries()) {
      const demonstration = await agentDemonstration(question, setting.tools, Rng.stream(8, index));
      expect(demonstration.weights.length).toBe(demonstration.tokenIds.length);
      expect(demonstration.tokenIds.length).toBeLessThanOrEqual(maxPositions);
      const actions = outputs(demonstration, [pieces.searchEnd, pieces.answerEnd]).map((text) => parseTurn(text).kind);
      expect(actions.length).toBeGreaterThanOrEqual(2);
      expect(actions.length).toBeLessThanOrEqual(setting.tools.maxSearches + 1);
      expect(actions).toEqual([...actions.slice(1).map(() => "search"), "answer"]);
    }
  });

  it("is the same for the same stream", async () => {
    const question = questions[0] as (typeof questions)[number];
    const again = () => agentDemonstration(question, setting.tools, Rng.stream(9));
    expect(await again()).toEqual(await again());
  });
});

describe("a ranker's demonstration", () => {
  const options = { firstHopShare: 0.5, promptWeight: 0, auxiliaryWeight: 1 };

  it("ends with a ranking of topK labels that the protocol accepts", async () => {
    const { candidates } = setting.config.retrieval;
    const { topK } = setting.tools;
    for (const [index, question] of questions.entries()) {
      const demonstration = await rankerDemonstration(question, setting.tools, Rng.stream(8, index), options);
      expect(demonstration.tokenIds.length).toBeLessThanOrEqual(maxPositions);
      expect([demonstration.weights.length, demonstration.targets?.length]).toEqual(Array(2).fill(demonstration.tokenIds.length));
      const [output, ...others] = outputs(demonstration, [pieces.rerankEnd]);
      expect(others).toEqual([]);
      const ranking = parseRanking(output ?? "", { candidates, topK });
      expect(ranking.kind === "ranked" && ranking.candidateRanks.length, output).toBe(topK);
    }
  });

  it("judges every passage of the prompt but the last, after whose label the output begins, and spends no loss on the rest", async () => {
    const relevant = pieceId(setting.renderer, pieces.better);
    const irrelevant = pieceId(setting.renderer, pieces.documents);
    const question = questions[0] as (typeof questions)[number];
    const options = { firstHopShare: 0.4, promptWeight: 0, auxiliaryWeight: 1 };
    const { tokenIds, weights, targets = [] } = await rankerDemonstration(question, setting.tools, Rng.stream(8), options);
    const promptLength = tokenIds.indexOf(pieceId(setting.renderer, pieces.reason));
    const judged = targets.slice(0, promptLength).filter((target) => target === relevant || target === irrelevant);
    expect(judged.length).toBe(setting.config.retrieval.candidates - 1);
    expect(weights.slice(0, promptLength).filter((weight) => weight > 0).length).toBe(judged.length);
  });
});
