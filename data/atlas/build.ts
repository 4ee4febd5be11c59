/**
 * Rebuilds the atlas world byte for byte from the pinned data packages. `npm run atlas:build` writes the files;
 * `npm run atlas:build -- --check` only compares them with what is committed and fails where they differ.
 */
import { createHash } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readCountries, worldSeed } from "./facts.ts";
import { writePassages } from "./passages.ts";
import { splitCountries, splits, writeQuestions } from "./questions.ts";
import { city, person, relations } from "./relations.ts";
import { packageVersion, sourcePackages } from "./sources.ts";

/** Every file of the world, by name, with its content; manifest.json is last. Pure in the installed packages. */
export function buildWorld(): Map<string, string> {
  const countries = readCountries();
  const passages = writePassages(countries);
  const questions = writeQuestions(countries);
  const sides = splitCountries(countries);
  const facts = {
    relations,
    city,
    person,
    countries: countries.map(({ name, values, cities }) => ({ name, split: sides.get(name), values: Object.fromEntries(values), cities })),
    passages: passages.map(({ id, entity, relation, value, wording }) => ({ id, entity, relation, value, wording })),
  };
  const files = new Map<string, string>();
  files.set("corpus.jsonl", lines(passages.map(({ id, title, text }) => ({ id, title, text }))));
  for (const split of splits) files.set(`questions.${split}.jsonl`, lines(questions.filter((question) => question.split === split)));
  files.set(
    "facts.json",
    `{\n${Object.entries(facts)
      .map(([key, value]) => section(key, value))
      .join(",\n")}\n}\n`,
  );
  const manifest = {
    seed: worldSeed,
    packages: Object.fromEntries(sourcePackages.map((name) => [name, packageVersion(name)])),
    counts: {
      countries: countries.length,
      facts: countries.reduce((sum, country) => sum + country.values.size, 0),
      passages: passages.length,
      questions: Object.fromEntries(splits.map((split) => [split, questions.filter((question) => question.split === split).length])),
    },
    sha256: Object.fromEntries([...files].map(([name, content]) => [name, createHash("sha256").update(content).digest("hex")])),
  };
  return files.set("manifest.json", `${JSON.stringify(manifest, null, 2)}\n`);
}

function lines(items: readonly unknown[]): string {
  return items.map((item) => `${JSON.stringify(item)}\n`).join("");
}

/** A top-level entry of facts.json; lists have one item a line, so that differences are readable. */
function section(key: string, value: unknown): string {
  const text = Array.isArray(value) ? `[\n${value.map((item) => JSON.stringify(item)).join(",\n")}\n]` : JSON.stringify(value);
  return `${JSON.stringify(key)}: ${text}`;
}

function main(check: boolean): void {
  const folder = dirname(fileURLToPath(import.meta.url));
  const differing: string[] = [];
  for (const [name, content] of buildWorld()) {
    const file = join(folder, name);
    if (check) {
      if (readFileSync(file, "utf8") !== content) differing.push(name);
      continue;
    }
    writeFileSync(`${file}.partial`, content);
    renameSync(`${file}.partial`, file);
    console.log(`${name}: ${content.length} bytes`);
  }
  if (differing.length > 0) {
    console.error(`differs from a fresh build: ${differing.join(", ")}. Run npm run atlas:build and commit the result.`);
    process.exitCode = 1;
  } else if (check) console.log("every file equals a fresh build");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv.includes("--check"));
