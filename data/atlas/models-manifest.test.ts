import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type ModelsManifest, modelFolders, modelsManifest } from "./models-manifest.ts";

const folder = dirname(fileURLToPath(import.meta.url));

describe("models.json", () => {
  it("has the SHA-256 of every file of the committed checkpoints", () => {
    const committed = JSON.parse(readFileSync(join(folder, "models.json"), "utf8")) as ModelsManifest;
    expect(committed).toEqual(modelsManifest(folder, committed.training));
    for (const model of modelFolders) expect(committed.sha256[`${model}/model.safetensors`]).toMatch(/^[0-9a-f]{64}$/);
  });
});
