import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { replacesExport } from "./export-target.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cosearch-export-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function make(name: string, ...files: readonly string[]): string {
  const path = join(folder, name);
  mkdirSync(path);
  for (const file of files) writeFileSync(join(path, file), "{}");
  return path;
}

describe("the folder that an export writes", () => {
  it("may be missing, empty, or an export that is replaced", async () => {
    expect(await replacesExport(join(folder, "missing"))).toBe(false);
    expect(await replacesExport(make("empty"))).toBe(false);
    expect(await replacesExport(make("model", "config.json", "model.safetensors", "tokenizer.json"))).toBe(true);
    expect(await replacesExport(make("adapter", "adapter_config.json", "adapter_model.safetensors"))).toBe(true);
  });

  it("is refused where other things would be lost", async () => {
    await expect(replacesExport(make("notes", "notes.md"))).rejects.toThrow(
      `${join(folder, "notes")} holds other things (notes.md), which an export would replace: name another --out folder`,
    );
    await expect(replacesExport(make("settings", "config.json", "app.js"))).rejects.toThrow("holds other things");
    const nested = make("nested", "config.json", "model.safetensors");
    mkdirSync(join(nested, "checkpoints"));
    await expect(replacesExport(nested)).rejects.toThrow("holds other things (checkpoints)");
  });

  it("is refused where the run begins from it, by whatever path", async () => {
    const base = make("base", "config.json", "model.safetensors");
    symlinkSync(base, join(folder, "linked"));
    await expect(replacesExport(base, [undefined, "some/name", join(folder, "linked")])).rejects.toThrow("the run itself begins from");
  });
});
