import "../../../test/property-seed.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { questions, tinyRenderer } from "../../../test/fixtures/training/tiny-world.ts";
import { agentProtocol } from "../../agent/agent-protocol.ts";
import type { AgentProtocol } from "../../agent/protocol.ts";
import { bm25Retriever } from "../../retrieval/retriever.ts";
import { Rng } from "../../rng.ts";
import type { Action, Document, Question } from "../../types.ts";
import type { Demonstration } from "../warm-start.ts";
import { agentDemonstration } from "./agent-demonstration.ts";
import { noHints, type QuestionHints } from "./hints.ts";
import { NoDemonstration } from "./turn-text.ts";

const renderer = tinyRenderer();
const limits = { maxSearches: 2, maxTurnTokens: 400, maxResponseTokens: 4000 };
const shared = { prompt: "compact", observationCharacters: 500, topK: 2, maxSearches: 2 } as const;
const cosearch = agentProtocol(renderer, { ...shared, protocol: "cosearch", grammar: false });
const searchR1 = agentProtocol(renderer, { ...shared, protocol: "search-r1", grammar: false });
const masked = agentProtocol(renderer, { ...shared, protocol: "cosearch", grammar: true });

const passages: Document[] = [
  { id: "1", title: "Orion (song)", text: "Orion is a song that Vega Lund sang first. It was a success." },
  { id: "2", title: "Vega Lund", text: "Vega Lund was born in Tromso. She sings." },
  { id: "3", title: "Tromso", text: "A town in the north." },
];
const bridge: Question = { id: "q", question: "Where was the singer of Orion born?", goldAnswers: ["tromso"], dataset: "", split: "" };

function demonstrate(
  question: Question,
  documents: readonly Document[],
  protocol: AgentProtocol,
  hints: QuestionHints = noHints,
  seed = 1,
) {
  const tools = { protocol, renderer, retriever: bm25Retriever({ documents }), candidates: 3, ...shared };
  return agentDemonstration(question, hints, tools, limits, Rng.stream(seed));
}

/** The runs of tokens that are trained on, one a turn. */
function taught({ tokenIds, weights }: Demonstration): number[][] {
  const runs: number[][] = [];
  for (const [index, weight] of weights.entries()) {
    if (weight === 0) continue;
    if (weights[index - 1] === 0) runs.push([]);
    (runs.at(-1) as number[]).push(tokenIds[index] as number);
  }
  return runs;
}

const actions = (made: Demonstration, protocol: AgentProtocol): Action[] => taught(made).map((run) => protocol.parse(renderer.decode(run)));

describe.each([
  ["cosearch", cosearch],
  ["search-r1", searchR1],
])("a demonstration in the %s protocol", (_, protocol) => {
  it("follows the sub-questions where they are known, and spells the answer as the passage does", async () => {
    const steps = [
      { question: "Orion singer", answer: "Vega Lund" },
      { question: "where was #1 born", answer: "Tromso" },
    ];
    const made = await demonstrate(bridge, passages, protocol, { titles: ["Orion (song)", "Vega Lund"], steps });
    expect(actions(made, protocol)).toEqual([
      { kind: "search", query: "Orion singer" },
      { kind: "search", query: "where was Vega Lund born" },
      { kind: "answer", answer: "Tromso" },
    ]);
    expect(made.searches.length).toBe(2);
  });

  it("needs nothing but question and answer", async () => {
    const made = await demonstrate(questions[0] as Question, [{ id: "1", title: "", text: "the capital of norway is oslo" }], protocol);
    expect(actions(made, protocol)).toEqual([
      { kind: "search", query: "what is the capital of norway" },
      { kind: "answer", answer: "oslo" },
    ]);
  });

  it("answers yes or no once it has read the passages that the question names", async () => {
    const question = { ...bridge, question: "Is Tromso older than Vega Lund?", goldAnswers: ["yes"] };
    const made = await demonstrate(question, passages, protocol, { titles: ["Tromso", "Vega Lund"], steps: [] });
    const last = actions(made, protocol).at(-1);
    expect(last).toEqual({ kind: "answer", answer: "yes" });
    expect(new Set(made.searches.flatMap(({ observation }) => observation.map(({ title }) => title)))).toEqual(
      new Set(["Tromso", "Vega Lund"]),
    );
  });

  it("is none where the answer is not found", async () => {
    await expect(demonstrate({ ...bridge, goldAnswers: ["Bodo"] }, passages, protocol)).rejects.toThrow("the answer was not found");
  });

  it("keeps any text data: every turn reads as it was meant and ends where a sampled one would", async () => {
    const piece = fc.constantFrom(
      "</reason>",
      "<answer>",
      "</answer>",
      "</tool_call>",
      '"}}</tool_call>',
      "<search>",
      "</search>",
      '"',
      "\\",
      "oslo",
      "é",
      "東京",
      "\n",
      " ",
    );
    const text = fc
      .array(fc.oneof(piece, fc.string({ unit: "grapheme", maxLength: 5 })), { minLength: 1, maxLength: 8 })
      .map((parts) => parts.join(" "));
    await fc.assert(
      fc.asyncProperty(text, text, text, fc.nat(), async (asked, title, answer, seed) => {
        fc.pre(answer.trim() !== "" && asked.trim() !== "");
        const question = { ...bridge, question: asked, goldAnswers: [answer] };
        const documents = [{ id: "1", title, text: `${asked} ${answer} ${title}` }, ...passages];
        const made = await demonstrate(question, documents, protocol, { titles: [title], steps: [] }, seed).catch((error) => {
          expect(error).toBeInstanceOf(NoDemonstration);
        });
        if (!made) return;
        const read = actions(made, protocol);
        expect(read.map(({ kind }) => kind)).toEqual([...made.searches.map(() => "search"), "answer"]);
        expect(read.slice(0, -1)).toEqual(made.searches.map(({ query }) => ({ kind: "search", query })));
        for (const run of taught(made)) {
          const ends = (ids: readonly number[]) =>
            ids.some((id) => protocol.stop.tokenIds.includes(id)) ||
            protocol.stop.strings.some((stop) => renderer.decode(ids).includes(stop));
          expect([ends(run), ends(run.slice(0, -1))]).toEqual([true, false]);
        }
      }),
    );
  });
});

describe("a demonstration under a grammar", () => {
  it("holds no quote, backslash or bracket outside the tags, which the grammar forbids", async () => {
    const quoting = [{ id: "1", title: "norway", text: 'the capital of <norway> is "oslo" \\ now' }];
    const made = await demonstrate({ ...(questions[0] as Question), question: 'what is the "capital" of norway' }, quoting, masked);
    const tags = new Set(renderer.specialTokenIds);
    const text = renderer.decode(
      taught(made)
        .flat()
        .filter((id) => !tags.has(id)),
    );
    expect(text).toContain("It says: the capital of norway is oslo");
    expect(text).not.toMatch(/["\\<>[\]]/);
  });
});
