import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../", import.meta.url));
const manifest = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as {
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  readonly dependencies: Readonly<Record<string, string>>;
};

/** The source that a built file comes from. */
const sourceOf = (built: string) => built.replace(/^(\.\/)?dist\//, "src/").replace(/(\.d\.ts|\.js)$/, ".ts");

/** Packages that a file imports or reads at run time. */
function packagesIn(file: string): string[] {
  const text = readFileSync(file, "utf8").replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
  const imported = [...text.matchAll(/\b(?:from|import)\s*\(?\s*"((?:@[\w-]+\/)?\w[\w.:/-]*)"/g)].map((match) => match[1] as string);
  const names = imported.map((path) =>
    path
      .split("/")
      .slice(0, path.startsWith("@") ? 2 : 1)
      .join("/"),
  );
  return names.filter((name) => !name.startsWith("node:"));
}

describe("package.json", () => {
  it("names entry points and a command that have a source", () => {
    const entries = Object.values(manifest.exports).flatMap((entry) => (typeof entry === "string" ? [] : [entry.types, entry.default]));
    expect(entries.length).toBeGreaterThanOrEqual(8);
    for (const built of entries) expect(existsSync(root + sourceOf(built)), built).toBe(true);
    for (const command of Object.values(manifest.bin)) {
      expect(statSync(root + command).mode & 0o111, `${command} must be executable`).toBe(0o111);
      const [, built = ""] = /"\.\.\/(dist\/[\w/]+\.js)"/.exec(readFileSync(root + command, "utf8")) ?? [];
      expect(existsSync(root + sourceOf(built)), built).toBe(true);
    }
  });

  it("depends on exactly the packages that the sources import", () => {
    const files = readdirSync(`${root}src`, { recursive: true, encoding: "utf8" }).filter((path) => /(?<!\.test)\.ts$/.test(path));
    const used = new Set(files.flatMap((path) => packagesIn(`${root}src/${path}`)));
    expect([...used].sort()).toEqual(Object.keys(manifest.dependencies).sort());
  });
});
