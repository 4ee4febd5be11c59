import { describe, expect, it } from "vitest";
import type { Question, SearchStep } from "../types.ts";
import { lockStep } from "./lock-step.ts";
import type { SearchRequest } from "./search.ts";

const question: Question = { id: "q", question: "?", goldAnswers: ["a"], dataset: "", split: "" };
const request = (query: string): SearchRequest => ({ question, trajectoryIndex: 0, turnIndex: 0, query, seed: 1 });

describe("lockStep", () => {
  it("lets calls of one moment return together, each with its own outcome", async () => {
    const releases = new Map<string, () => void>();
    const order: string[] = [];
    const search = lockStep(async ({ query }) => {
      await new Promise<void>((resolve) => releases.set(query, resolve));
      order.push(`done ${query}`);
      if (query === "fails") throw new Error("refused");
      return { query, candidates: [], observation: [] } satisfies SearchStep;
    });
    const calls = ["fast", "fails", "slow"].map((query) =>
      search(request(query)).then(
        (step) => order.push(`told ${step.query}`),
        (error: Error) => order.push(`told ${error.message}`),
      ),
    );
    await new Promise((resolve) => setImmediate(resolve));
    expect([...releases.keys()]).toEqual(["fast", "fails", "slow"]);
    for (const release of releases.values()) release();
    await Promise.all(calls);
    expect(order.slice(0, 3)).toEqual(["done fast", "done fails", "done slow"]);
    expect(order.slice(3)).toEqual(["told fast", "told refused", "told slow"]);
  });
});
