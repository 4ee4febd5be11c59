import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HashedEmbedder } from "./hashed-embedder.ts";

const corpus = ["the capital of peru is lima", "the capital of chile is santiago", "the currency of peru is the sol", "the lion"];
const product = (left: Float32Array | undefined, right: Float32Array | undefined) =>
  left?.reduce((sum, value, index) => sum + value * (right?.[index] ?? Number.NaN), 0) ?? Number.NaN;

describe("HashedEmbedder", () => {
  it("gives unit vectors, and a zero vector for a text without words", async () => {
    const embedder = HashedEmbedder.fit(corpus, { dimensions: 64 });
    for (const vector of await embedder.embedDocuments([...corpus, "unseen words only"])) expect(product(vector, vector)).toBeCloseTo(1, 5);
    expect((await embedder.embedQueries(["?!"]))[0]?.every((value) => value === 0)).toBe(true);
  });

  it("does not depend on the order of words, on case or on accents", async () => {
    const embedder = HashedEmbedder.fit(corpus, { dimensions: 32 });
    const [first, second] = await embedder.embedQueries(["capital of Perú", "PERU of capital"]);
    expect(product(first, second)).toBeCloseTo(1, 5);
  });

  it("lets rare words outweigh common ones, the more the larger idfPower", async () => {
    const similarity = async (idfPower: number) => {
      const embedder = HashedEmbedder.fit(corpus, { dimensions: 512, idfPower });
      const [query, sameName, sameKind] = await embedder.embedQueries(["the santiago", "chile santiago", "the lion"]);
      return { name: product(query, sameName), kind: product(query, sameKind) };
    };
    const [flat, strong] = [await similarity(0), await similarity(2)];
    expect(strong.name).toBeGreaterThan(strong.kind);
    expect(strong.kind).toBeLessThan(flat.kind);
  });

  it("brings misspelt words nearer with trigrams", async () => {
    const similarity = async (trigramWeight: number) => {
      const [left, right] = await HashedEmbedder.fit(corpus, { dimensions: 512, trigramWeight }).embedQueries(["santiago", "santiagoo"]);
      return product(left, right);
    };
    expect(await similarity(1)).toBeGreaterThan((await similarity(0)) + 0.2);
  });

  it("is rebuilt from its state to the same bits", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string(), { maxLength: 8 }), fc.string(), async (texts, query) => {
        const embedder = HashedEmbedder.fit(texts, { dimensions: 16, idfPower: 1.5, trigramWeight: 0.3 });
        const restored = HashedEmbedder.fromState(JSON.parse(JSON.stringify(embedder.state)));
        expect(await restored.embedQueries([query])).toEqual(await embedder.embedQueries([query]));
      }),
      { numRuns: 50 },
    );
  });
});
