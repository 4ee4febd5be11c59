import { describe, expect, it } from "vitest";
import { tinyConfig, tinyWiring } from "../../../test/fixtures/training/tiny-run.ts";
import { documents, questions } from "../../../test/fixtures/training/tiny-world.ts";
import { InfrastructureError } from "../../errors.ts";
import { bm25Retriever } from "../../retrieval/retriever.ts";
import type { Question } from "../../types.ts";
import { makeDemonstrations } from "./make-demonstrations.ts";

const config = tinyConfig({ agent: { maxTurnTokens: 150, maxResponseTokens: 900 }, ranker: { maxTokens: 80 } });
const unknown: Question = { ...(questions[0] as Question), id: "unknown", goldAnswers: ["nowhere"] };
const wiring = { ...tinyWiring(), retriever: bm25Retriever({ documents }), trainQuestions: [...questions, unknown] };
const hints = new Map();

describe("makeDemonstrations", () => {
  it("makes one a question, counts those that give none, and is the same every time", async () => {
    const made = await makeDemonstrations({ config, wiring, hints, enough: 100 });
    expect([made.questions, made.agent.length, made.dropped]).toEqual([7, 6, { "agent: the answer was not found": 1 }]);
    expect(made.ranker.length).toBeGreaterThanOrEqual(6);
    expect(await makeDemonstrations({ config, wiring, hints, enough: 100 })).toEqual(made);
  });

  it("counts what exceeds the budgets", async () => {
    const tight = tinyConfig({ agent: { maxTurnTokens: 150, maxResponseTokens: 60 }, ranker: { maxTokens: 80 } });
    const made = await makeDemonstrations({ config: tight, wiring, hints, enough: 100 });
    expect([made.agent, made.ranker]).toEqual([[], []]);
    expect(Object.values(made.dropped).reduce((sum, count) => sum + count, 0)).toBe(7);
    const narrow = { ...wiring, main: { ...wiring.main, contextTokens: 70 } };
    expect(
      (await makeDemonstrations({ config, wiring: narrow, hints, enough: 100 })).dropped["agent: longer than the model's context"],
    ).toBe(6);
  });

  it("counts questions that the retriever failed for", async () => {
    const failing = {
      name: "failing",
      search: async () => {
        throw new InfrastructureError("it is down");
      },
    };
    const made = await makeDemonstrations({ config, wiring: { ...wiring, retriever: failing }, hints, enough: 100 });
    expect(made.dropped).toEqual({ "agent: the retriever failed: it is down": 7 });
  });
});
