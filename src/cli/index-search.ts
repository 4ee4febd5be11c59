import { ConfigError } from "../errors.ts";
import { cutText } from "../retrieval/passage-text.ts";
import type { Candidate } from "../types.ts";
import { allPositionals, defineStrictCommand } from "./command.ts";
import { indexFlags, indexTarget } from "./index-flags.ts";

const args = {
  query: { type: "positional", description: "what to look for, in quotes; several are searched together", required: false },
  top: { type: "string", description: "results a query; default 5", valueHint: "N" },
  ...indexFlags,
} as const;

const snippetCharacters = 160;

/** `cosearch index search`: what the first stage finds. */
export const indexSearch = defineStrictCommand({
  meta: { name: "search", description: "Search an index and print what is found" },
  args,
  manyOf: "query",
  examples: [
    'cosearch index search "how do I rotate the keys?" --index indexes/docs',
    'cosearch index search "capital of Peru" --index indexes/wiki --kind bm25 --top 20 --json',
  ],
  async run({ args: given, rawArgs }) {
    const queries = allPositionals(rawArgs, args).filter((query) => query.trim() !== "");
    if (queries.length === 0)
      throw new ConfigError('index search: give a query in quotes, e.g. cosearch index search "capital of Peru" --index DIR');
    const top = Number(given.top ?? 5);
    if (!Number.isInteger(top) || top < 1) throw new ConfigError(`index search: --top must be a positive integer, got ${given.top}`);
    const { config, folder } = indexTarget("index search", rawArgs);
    const { openIndex } = await import("../retrieval/indexing/open-index.ts");
    const index = await openIndex(folder, { ...config, cacheSize: 0 });
    try {
      const found = await index.search(queries, top);
      const results = queries.map((query, position) => ({ query, results: (found[position] ?? []).map(plain) }));
      process.stdout.write(
        given.json ? `${JSON.stringify(results, null, 2)}\n` : found.map((list, position) => listed(queries, position, list)).join("\n"),
      );
    } finally {
      await index.close();
    }
  },
});

function plain({ rank, score, document }: Candidate): Record<string, unknown> {
  return { rank, score, ...document };
}

function listed(queries: readonly string[], position: number, candidates: readonly Candidate[]): string {
  const heading = queries.length > 1 ? `${queries[position]}\n` : "";
  if (candidates.length === 0) return `${heading}nothing found\n`;
  return heading + candidates.map((candidate) => `${line(candidate)}\n`).join("");
}

/** Rank, score, title, id (of a text: its path) and the beginning of the text; control characters would act on the terminal. */
function line({ rank, score, document }: Candidate): string {
  const clean = (text: string) => text.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim();
  const text = clean(document.text);
  const snippet = text.length > snippetCharacters ? `${cutText(text, snippetCharacters)} ...` : text;
  const name = [clean(document.title), `[${clean(document.id)}]`].filter((part) => part !== "").join("  ");
  return `${String(rank).padStart(3)}  ${score.toFixed(4).padStart(9)}  ${name}\n     ${snippet}`;
}
