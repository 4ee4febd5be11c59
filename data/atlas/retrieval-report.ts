/**
 * How well the first stage serves the atlas world, for sub-queries that a perfect searcher would ask (not for a model's): how often
 * an answer is first, among two, among ten, by relation and by how the fact is told; and how often a passage holds the answer
 * by accident. `npx tsx data/atlas/retrieval-report.ts`.
 */
import { fileURLToPath } from "node:url";
import { loadConfig } from "../../src/cli/load-config.ts";
import { createRetriever } from "../../src/retrieval/create-retriever.ts";
import type { Retriever } from "../../src/retrieval/retriever.ts";
import { containsAnswer } from "../../src/text.ts";
import type { Candidate } from "../../src/types.ts";
import { readCountries } from "./facts.ts";
import { type Passage, writePassages } from "./passages.ts";
import { type AtlasQuestion, writeQuestions } from "./questions.ts";
import { relations } from "./relations.ts";

const { retrieval } = loadConfig({ file: fileURLToPath(new URL("../../configs/atlas.yaml", import.meta.url)) });
const { candidates } = retrieval;

const countries = readCountries();
const passages = writePassages(countries);
const passageOf = new Map(passages.map((passage) => [passage.id, passage]));
const questions = writeQuestions(countries);

/** One question for each distinct sub-query. */
function distinct(hops: 1 | 2): AtlasQuestion[] {
  const chosen = questions.filter((question) => question.hops === hops);
  return [...new Map(chosen.map((question) => [question.subQueries[0], question])).values()];
}

const share = (values: readonly boolean[]) => (values.filter(Boolean).length / Math.max(1, values.length)).toFixed(3);
const row = (name: string, hits: readonly (readonly boolean[])[]) => {
  const within = (cutoff: number) => share(hits.map((list) => list.slice(0, cutoff).some(Boolean)));
  console.log(`  ${name.padEnd(26)} ${String(hits.length).padStart(5)}   ${within(1)}  ${within(2)}  ${within(candidates)}`);
};

/** How a question's fact is told, e.g. "lexical+paraphrase". */
function telling(question: AtlasQuestion): string {
  const told = passages.filter(({ entity, relation }) => entity === question.entity && relation === question.relation);
  return told.map(({ wording }) => wording).join("+");
}

/** Whether the passage tells the asked fact (a leader's own passage does too). */
function isAbout(passage: Passage, question: AtlasQuestion): boolean {
  return passage.entity === question.entity && (passage.relation === question.relation || passage.value === question.value);
}

async function report(retriever: Retriever, name: string): Promise<void> {
  const search = (list: readonly AtlasQuestion[], subQuery: (question: AtlasQuestion) => string) =>
    retriever.search(list.map(subQuery), candidates);
  const single = distinct(1);
  const found = await search(single, (question) => question.subQueries[0] ?? "");
  const answers = (question: AtlasQuestion, list: readonly Candidate[]) =>
    list.map(({ document }) => containsAnswer(document.text, question.golden_answers));
  const hits = single.map((question, index) => answers(question, found[index] ?? []));
  console.log(`\n${name}: canonical sub-queries${" ".repeat(6)}n   Hit@1  Hit@2  Hit@${candidates}`);
  row("one hop", hits);
  for (const wording of [...new Set(single.map(telling))].sort())
    row(
      `told ${wording}`,
      hits.filter((_, index) => telling(single[index] as AtlasQuestion) === wording),
    );
  for (const { id } of relations)
    row(
      id,
      hits.filter((_, index) => single[index]?.relation === id),
    );

  const reworded = await search(single, (question) => question.alternativeSubQuery);
  row(
    "one hop, other words",
    single.map((question, index) => answers(question, reworded[index] ?? [])),
  );

  const double = distinct(2);
  const bridges = await search(double, (question) => question.subQueries[0] ?? "");
  const named = (question: AtlasQuestion, text: string) =>
    [question.entity, question.bridgeValue ?? ""].every((words) => containsAnswer(text, [words]));
  row(
    "first hop of two",
    double.map((question, index) => (bridges[index] ?? []).map(({ document }) => named(question, document.text))),
  );

  const judged = single.flatMap((question, index) =>
    (found[index] ?? []).map(({ document }, place) => ({
      about: isAbout(passageOf.get(document.id) as Passage, question),
      hit: hits[index]?.[place] === true,
    })),
  );
  const lists = single.map((question, index) =>
    (found[index] ?? []).map(({ document }) => isAbout(passageOf.get(document.id) as Passage, question)),
  );
  console.log(`  passages not about the fact that hold the answer: ${share(judged.filter(({ about }) => !about).map(({ hit }) => hit))}`);
  console.log(
    `  queries whose answer is there by accident only: ${share(hits.map((list, index) => list.some(Boolean) && !list.some((hit, place) => hit && lists[index]?.[place])))}`,
  );
  console.log(`  queries with two or more passages about the fact: ${share(lists.map((list) => list.filter(Boolean).length > 1))}`);
}

const { k1, b, embedder } = retrieval;
const { dimensions, idfPower } = embedder;
await report(await createRetriever({ ...retrieval, kind: "dense" }, passages), `dense (${dimensions} dimensions, idf power ${idfPower})`);
await report(await createRetriever({ ...retrieval, kind: "bm25" }, passages), `BM25 (k1 ${k1}, b ${b})`);
