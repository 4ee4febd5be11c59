import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HashedEmbedder } from "./hashed-embedder.ts";
import { hashedFingerprint, readHashedState, writeHashedState } from "./hashed-state.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "cosearch-hashed-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function* stream(texts: readonly string[]) {
  yield* texts;
}

describe("a hashed embedder's state", () => {
  it("is the same learnt from a stream and from a list", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string({ unit: "grapheme" })), fc.constantFrom(0, 0.5), async (texts, trigramWeight) => {
        const options = { dimensions: 16, idfPower: 1.5, trigramWeight };
        const [listed, streamed] = [HashedEmbedder.fit(texts, options), await HashedEmbedder.fitStream(stream(texts), options)];
        expect(streamed.state).toEqual(listed.state);
        expect(streamed.identity).toEqual(listed.identity);
      }),
      { numRuns: 50 },
    );
  });

  it("survives a file, to the same vectors and identity", async () => {
    const file = join(folder, "embedder.json");
    const embedder = HashedEmbedder.fit(['a "quoted" word', "слово 字", ""], { dimensions: 8, trigramWeight: 0.25 });
    await writeHashedState(file, embedder.state);
    const restored = HashedEmbedder.fromState(await readHashedState(file));
    expect(restored.state).toEqual(embedder.state);
    expect(restored.identity).toEqual(embedder.identity);
    expect(await restored.embedQueries(["quoted 字"])).toEqual(await embedder.embedQueries(["quoted 字"]));
  });

  it("may be empty", async () => {
    const file = join(folder, "empty.json");
    const { state } = HashedEmbedder.fit([]);
    await writeHashedState(file, state);
    expect(await readHashedState(file)).toEqual(state);
  });

  it("has another fingerprint when any part of it differs", () => {
    const { state } = HashedEmbedder.fit(["one two", "two"]);
    const others = [
      { ...state, dimensions: 32 },
      { ...state, idfPower: 2 },
      { ...state, trigramWeight: 1 },
      { ...state, documents: 3 },
      { ...state, documentFrequencies: [["one", 1] as const, ["two", 1] as const] },
    ];
    expect(new Set([state, ...others].map(hashedFingerprint)).size).toBe(6);
  });

  it("is refused when the file is missing, broken, changed or something else", async () => {
    const file = join(folder, "bad.json");
    await expect(readHashedState(file)).rejects.toThrow(/bad\.json: is missing/);
    await writeHashedState(file, HashedEmbedder.fit(["one two"]).state);
    const text = await readFile(file, "utf8");
    for (const [content, message] of [
      [text.slice(0, -5), /bad\.json: is not valid JSON/],
      [text.replace('["one",1]', '["one",2]'), /was changed/],
      ["{}", /does not hold a hashed embedder's statistics/],
      [text.replace('["one",1]', '["one"]'), /does not hold/],
    ] as const) {
      await writeFile(file, content);
      await expect(readHashedState(file)).rejects.toThrow(message);
    }
  });
});
