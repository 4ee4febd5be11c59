import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

/**
 * The import rings. A file belongs to the first row whose pattern matches its path below src/; it imports files of its own
 * unit (the row) and of smaller rings, and what `also` names, but nothing that `never` names. A file that no row matches
 * fails: say here where it belongs.
 */
interface Unit {
  readonly pattern: RegExp;
  readonly ring: number;
  readonly also?: RegExp;
  readonly never?: RegExp;
}

/** Concrete engines: the loops see the contract only, and the command line does the wiring. */
const concreteEngines = /^engine\/(embedded|endpoint)\//;

const units: readonly Unit[] = [
  // The contracts: interfaces and data only, open to every ring from 1 up.
  { pattern: /^engine\/engine\.ts$/, ring: 0.5 },
  { pattern: /^(types|errors|rng|text|evenly-spaced|json-values)\.ts$|^text\//, ring: 0 },
  // Pure, although they stand beside the loops that use them.
  { pattern: /^agent\/parse-turn\.ts$/, ring: 1 },
  { pattern: /^ranker\/parse-ranking\.ts$/, ring: 1 },
  { pattern: /^config\.ts$/, ring: 1 },
  { pattern: /^grouping\//, ring: 1 },
  { pattern: /^reward\//, ring: 1 },
  { pattern: /^grpo\//, ring: 1 },
  // What the rings above stand on: atomic writes, JSON files, ONNX graphs and sessions, worker threads, OpenAI-compatible servers.
  { pattern: /^(files|onnx|threads|endpoint)\//, ring: 1.5 },
  // Entry points of the package: they only export, and only the command line may use them.
  { pattern: /^(index|(engine|retrieval|training|evaluation|serving)\/index)\.ts$/, ring: 4.5, also: /./ },
  { pattern: /^retrieval\//, ring: 2 },
  { pattern: /^engine\/embedded\//, ring: 2, also: /^engine\/(gguf\/)?[^/]+\.ts$/ },
  { pattern: /^engine\/endpoint\//, ring: 2, also: /^engine\/(gguf\/)?[^/]+\.ts$/ },
  { pattern: /^engine\/(gguf\/)?[^/]+\.ts$/, ring: 2 },
  { pattern: /^agent\//, ring: 3, never: concreteEngines },
  { pattern: /^ranker\//, ring: 3, never: concreteEngines },
  { pattern: /^training\//, ring: 4, never: concreteEngines },
  { pattern: /^evaluation\//, ring: 4, never: concreteEngines },
  { pattern: /^serving\//, ring: 4, never: concreteEngines },
  { pattern: /^cli\//, ring: 5 },
];

const source = fileURLToPath(new URL("../src/", import.meta.url));
const files = readdirSync(source, { recursive: true, encoding: "utf8" })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"))
  .sort();

describe("import rings", () => {
  it("finds the sources", () => {
    expect(files).toContain("types.ts");
    expect(importsOf("text.ts").length).toBeGreaterThan(0);
  });

  it.each(files)("%s has a ring and imports only what lies above it", (file) => {
    const unit = unitOf(file);
    expect(unit, `src/${file} matches no row of the table in this test`).toBeDefined();
    expect(
      importsOf(file)
        .filter((target) => target.startsWith("."))
        .filter((target) => !mayImport(file, resolve(file, target))),
    ).toEqual([]);
  });

  it.each(files.filter((file) => (unitOf(file)?.ring ?? 9) < 1.5))(
    "%s is pure: no package but zod in config.ts, no chance, no clock",
    (file) => {
      const packages = importsOf(file).filter((target) => !target.startsWith("."));
      expect(packages).toEqual(file === "config.ts" ? ["zod"] : []);
      expect(withoutComments(file)).not.toMatch(/\bMath\.random\b|\bDate\b|\bperformance\b|\bprocess\b|\bawait\b/);
    },
  );

  it("knows a forbidden import when it sees one", () => {
    expect(mayImport("retrieval/bm25.ts", "engine/embedded/model.ts")).toBe(false);
    expect(mayImport("agent/rollout.ts", "engine/embedded/model.ts")).toBe(false);
    expect(mayImport("agent/rollout.ts", "engine/renderer.ts")).toBe(true);
    expect(mayImport("engine/embedded/model.ts", "engine/recent-cache.ts")).toBe(true);
    expect(mayImport("grpo/loss.ts", "reward/relevance.ts")).toBe(false);
    expect(mayImport("types.ts", "engine/engine.ts")).toBe(false);
    expect(mayImport("training/step.ts", "cli/main.ts")).toBe(false);
  });
});

function unitOf(file: string): Unit | undefined {
  return units.find((unit) => unit.pattern.test(file));
}

function mayImport(file: string, target: string): boolean {
  const from = unitOf(file);
  const to = unitOf(target);
  if (!from || !to) return false;
  if (from.never?.test(target)) return false;
  return from === to || to.ring < from.ring || (from.also?.test(target) ?? false);
}

/** The module names that a file imports or re-exports, types included. */
function importsOf(file: string): string[] {
  const pattern = /^(?:import|export)\b[^;"']*?\bfrom\s*["']([^"']+)["']|^import\s*["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']\s*\)/gm;
  return [...withoutComments(file).matchAll(pattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
}

function withoutComments(file: string): string {
  return readFileSync(source + file, "utf8").replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
}

/** The path below src/ that a relative import in `file` means. */
function resolve(file: string, target: string): string {
  return new URL(target, `file:///${file}`).pathname.slice(1);
}
