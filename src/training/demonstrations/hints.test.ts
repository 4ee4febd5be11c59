import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { loadHints } from "./hints.ts";

const folder = mkdtempSync(join(tmpdir(), "cosearch-hints-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("reads titles and sub-questions, and takes labels of another form for absent", async () => {
  const file = join(folder, "questions.jsonl");
  const step = { question: "Orion >> singer", answer: "Vega" };
  const lines = [
    { id: "a", gold_titles: ["One", "One", "Two"], decomposition: [step] },
    { id: "b", gold_titles: "One", decomposition: [step, { question: "where was #1 born" }] },
    { id: "c" },
  ];
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  expect(Object.fromEntries(await loadHints(file))).toEqual({
    a: { titles: ["One", "Two"], steps: [{ question: "Orion singer", answer: "Vega" }] },
    b: { titles: [], steps: [] },
    c: { titles: [], steps: [] },
  });
});
