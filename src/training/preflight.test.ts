import { describe, expect, it } from "vitest";
import { type ConfigChange, tinyConfig, tinyWiring } from "../../test/fixtures/training/tiny-run.ts";
import { ConfigError } from "../errors.ts";
import type { Retriever } from "../retrieval/retriever.ts";
import { preflight } from "./preflight.ts";

function look(
  change: ConfigChange = {},
  context: { main?: number; ranker?: number } = {},
  textFor: (query: string) => string | undefined = () => undefined,
) {
  const wiring = tinyWiring();
  const retriever: Retriever = {
    name: "preflight",
    async search(queries, topK) {
      const found = await wiring.retriever.search(queries, topK);
      return found.map((list, index) =>
        list.map((candidate) => {
          const text = textFor(queries[index] as string) ?? candidate.document.text;
          return { ...candidate, document: { ...candidate.document, text } };
        }),
      );
    },
  };
  const main = { ...wiring.main, ...(context.main === undefined ? {} : { contextTokens: context.main }) };
  const ranker = { ...wiring.ranker, ...(context.ranker === undefined ? {} : { contextTokens: context.ranker }) };
  return preflight(tinyConfig(change), { ...wiring, main, ranker, retriever });
}

describe("preflight", () => {
  it("tells the effective settings of both policies", async () => {
    const settings = new Map(await look({}, { main: 400, ranker: 400 }));
    expect([...settings.keys()]).toEqual(["agent", "agent tokens", "ranker", "ranker tokens"]);
    expect(settings.get("agent")).toMatch(/^cosearch protocol, compact prompt, grammar off, ends at .*<\/answer>/);
    expect(settings.get("agent tokens")).toMatch(/^prompt \d+, at most 40 a turn, 160 in all of 400; an observation up to \d+$/);
    expect(settings.get("ranker")).toMatch(/^2 of 4, compact prompt/);
    expect(settings.get("ranker tokens")).toMatch(/^prompt up to \d+ \(\d+ without passages\), at most 16 written of 400$/);
  });

  it("takes the longest of what several questions find", async () => {
    const observation = async (textFor?: (query: string) => string | undefined) =>
      Number(/up to (\d+)$/.exec(new Map(await look({}, {}, textFor)).get("agent tokens") ?? "")?.[1]);
    const usual = await observation();
    const long = "a city on a river in the north ".repeat(3);
    for (const country of ["norway", "egypt", "india"]) {
      expect(await observation((query) => (query.includes(country) ? long : undefined))).toBeGreaterThan(usual + 20);
    }
    const short = { agent: { model: "agent", prompt: "compact", maxResponseTokens: usual + 20 } } as const;
    await expect(look(short)).resolves.toBeDefined();
    await expect(look(short, {}, (query) => (query.includes("india") ? long : undefined))).rejects.toThrow(
      /an observation of 2 passages takes \d+ tokens: raise it, or lower ranker\.topK, agent\.observationCharacters or, .*retrieval\.passageWords/,
    );
  });

  it("says nothing of a ranker where there is none", async () => {
    expect((await look({ system: "retrieval-only" })).map(([name]) => name)).toEqual(["agent", "agent tokens"]);
  });

  it.each<[string, ConfigChange, { main?: number; ranker?: number }, RegExp]>([
    [
      "the agent's budget and its context",
      {},
      { main: 100 },
      /^agent.maxResponseTokens is 160.* longest sequence is 100: lower agent.maxResponseTokens to \d+ or less$/,
    ],
    [
      "an observation and the budget",
      { agent: { model: "agent", prompt: "compact", maxResponseTokens: 5 } },
      {},
      /^agent.maxResponseTokens is 5, but an observation of 2 passages takes \d+ tokens/,
    ],
    [
      "the ranker's candidates and its context",
      {},
      { ranker: 40 },
      /^ranker.maxTokens is 16, and a prompt of 4 candidates .* longest sequence is 40: lower retrieval.candidates/,
    ],
  ])("names %s where they don't go together", async (_, change, context, message) => {
    const failure = look(change, context);
    await expect(failure).rejects.toThrow(ConfigError);
    await expect(failure).rejects.toThrow(message);
  });

  it("tells when passages will be shortened", async () => {
    const text = "a city on a river in the north ".repeat(3);
    const long = (ranker?: number) => look({}, ranker === undefined ? {} : { ranker }, () => text);
    const [, prompt = "0"] = /^prompt up to (\d+)/.exec(new Map(await long()).get("ranker tokens") ?? "") ?? [];
    expect(new Map(await long(Number(prompt) - 20)).get("ranker tokens")).toMatch(/, up to [1-4] of 4 passages shortened to fit$/);
  });
});
