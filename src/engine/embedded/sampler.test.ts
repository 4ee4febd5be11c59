import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tinyShape as shape } from "../../../test/fixtures/engine/tiny-shape.ts";
import type { SampledTokens } from "../../types.ts";
import { Parameters } from "./parameters.ts";
import { EmbeddedSampler, type EmbeddedSamplerOptions } from "./sampler.ts";
import type { SamplerRequest } from "./sampling-sequence.ts";

/** Token i is the letter with that number. */
const decode = (tokenIds: readonly number[]) => tokenIds.map((id) => String.fromCharCode(48 + id)).join("");

const parameters = new Parameters(shape, { trainable: false });
const samplers: EmbeddedSampler[] = [];
async function makeSampler(options: Partial<EmbeddedSamplerOptions> = {}): Promise<EmbeddedSampler> {
  const sampler = await EmbeddedSampler.create(parameters, { threads: 1, prefixCacheMegabytes: 0, decode, ...options });
  samplers.push(sampler);
  return sampler;
}

let plain: EmbeddedSampler;
beforeAll(async () => {
  parameters.initialise(3, 0.3);
  plain = await makeSampler();
});
afterAll(async () => {
  for (const sampler of samplers) await sampler.release();
});

/** Prompts of very different lengths, some of them equal. */
function requests(count: number): SamplerRequest[] {
  return Array.from({ length: count }, (_, index) => ({
    promptTokenIds: Array.from({ length: 1 + ((index * 7) % 40) }, (_, place) => (index * 3 + place * 5) % 60),
    samples: 1 + (index % 3),
    maxTokens: 1 + ((index * 5) % 40),
    seed: index,
  }));
}

const outputsOf = (results: readonly (SampledTokens[] | Error)[]) =>
  results.map((result) => {
    if (result instanceof Error) throw result;
    return result;
  });
const tokensOf = (results: readonly (SampledTokens[] | Error)[]) =>
  outputsOf(results).map((outputs) => outputs.map(({ tokenIds }) => tokenIds));

describe("EmbeddedSampler", () => {
  it("gives the same tokens however the batch is cut, in rows, prefill tokens and memory", async () => {
    const expected = tokensOf(await plain.sample(requests(20)));
    expect(expected.flat()).toHaveLength(39);
    for (const options of [{ maxRows: 4 }, { maxRows: 1 }, { prefillTokens: 16 }, { pieceTokens: 6 }, { batchMegabytes: 0.05 }]) {
      const cut = await makeSampler(options);
      expect(tokensOf(await cut.sample(requests(20)))).toEqual(expected);
    }
  });

  it("gives the same tokens with and without cached prefixes", async () => {
    const caching = await makeSampler({ prefixCacheMegabytes: 8 });
    const first = outputsOf(await caching.sample(requests(12)));
    const next = requests(12).flatMap((request, index) => [
      { ...request, samples: 2, seed: 100 + index },
      {
        ...request,
        samples: 1,
        promptTokenIds: [...request.promptTokenIds, ...(first[index]?.[0]?.tokenIds ?? []), 7, 8, 9].slice(0, 120),
        maxTokens: 6,
      },
    ]);
    const continued = outputsOf(await caching.sample(next));
    const fresh = outputsOf(await plain.sample(next));
    expect(tokensOf(continued)).toEqual(tokensOf(fresh));
    continued.flat().forEach(({ logprobs }, index) => {
      logprobs.forEach((logprob, place) => {
        expect(Math.abs(logprob - (fresh.flat()[index]?.logprobs[place] as number))).toBeLessThan(1e-4);
      });
    });
  });

  it("computes a continued prompt only from where it was left", async () => {
    const caching = await makeSampler({ prefixCacheMegabytes: 8 });
    const computed: number[] = [];
    const decoder = (
      caching as unknown as { decoder: { extend(row: number, lists: number[][], temperatures: Float32Array): Promise<Float32Array> } }
    ).decoder;
    const extend = decoder.extend.bind(decoder);
    decoder.extend = (row, lists, temperatures) => {
      computed.push(...lists.map((list) => list.length));
      return extend(row, lists, temperatures);
    };
    const prompt = [1, 2, 3, 4, 5, 6, 7, 8];
    const [outputs] = outputsOf(await caching.sample([{ promptTokenIds: prompt, samples: 4, maxTokens: 10, seed: 1 }]));
    const longer = [...prompt, ...(outputs?.[2]?.tokenIds ?? []), 11, 12];
    await caching.sample([{ promptTokenIds: longer, maxTokens: 1, seed: 1 }]);
    // Four samples share one prefill; the last sampled token was never fed, so it is computed with the two new ones.
    expect(computed).toEqual([8, 3]);
    caching.useWeights();
    await caching.sample([{ promptTokenIds: longer, maxTokens: 1, seed: 1 }]);
    expect(computed).toEqual([8, 3, 20]);
  });

  it("cuts maxTokens to the model's positions and refuses prompts that fill them", async () => {
    const long = Array.from({ length: 125 }, (_, place) => place % 60);
    const [fits, full] = await plain.sample([
      { promptTokenIds: long, maxTokens: 50, seed: 1 },
      { promptTokenIds: [...long, 1, 2, 3], maxTokens: 50, seed: 1 },
    ]);
    expect((fits as SampledTokens[])[0]).toMatchObject({ finishReason: "length" });
    expect((fits as SampledTokens[])[0]?.tokenIds).toHaveLength(3);
    expect((full as Error).message).toMatch(/prompt has 128 tokens, the model's longest sequence is 128/);
  });

  it("ends at the token that completes a stop string", async () => {
    const request = { promptTokenIds: [4, 5, 6], maxTokens: 30, seed: 8 };
    const [[free]] = outputsOf(await plain.sample([request])) as [[SampledTokens]];
    const text = decode(free.tokenIds.slice(10, 13));
    const [[stopped]] = outputsOf(await plain.sample([{ ...request, stop: { strings: ["never", text] } }])) as [[SampledTokens]];
    expect(stopped.text).toBe(free.text.slice(0, free.text.indexOf(text) + 3));
    expect(stopped.finishReason).toBe("stop");
  });

  it("scales the scored distribution with the temperature, row by row", async () => {
    const prompt = { promptTokenIds: [9, 8, 7], maxTokens: 1, seed: 1 };
    const results = await plain.sample([1, 0.5, 0].map((temperature) => ({ ...prompt, temperature, samples: 300 })));
    const logprob = new Map<number, number>();
    for (const { tokenIds, logprobs } of outputsOf(results)[0] ?? []) logprob.set(tokenIds[0] as number, logprobs[0] as number);
    const best = Math.max(...logprob.values());
    const greedy = outputsOf(results)[2]?.[0] as SampledTokens;
    expect(greedy.logprobs[0]).toBeCloseTo(best, 6);
    // At temperature 1/2 differences of log-probabilities are twice as large.
    const [left, right] = (outputsOf(results)[1] ?? []).filter(({ tokenIds }) => logprob.has(tokenIds[0] as number));
    const other = (outputsOf(results)[1] ?? []).find(
      ({ tokenIds }) => logprob.has(tokenIds[0] as number) && tokenIds[0] !== left?.tokenIds[0],
    );
    expect(right).toBeDefined();
    const cold = (left?.logprobs[0] as number) - (other?.logprobs[0] as number);
    const warm = (logprob.get(left?.tokenIds[0] as number) as number) - (logprob.get(other?.tokenIds[0] as number) as number);
    expect(cold).toBeCloseTo(2 * warm, 4);
  });

  it("serves the next batch as ever after one that failed", async () => {
    const expected = tokensOf(await plain.sample(requests(3)));
    const stateless = { id: "stateless", start: 7, states: [], reservedTokenIds: [] };
    await expect(plain.sample([...requests(3), { promptTokenIds: [1, 2], maxTokens: 2, seed: 1, grammar: stateless }])).rejects.toThrow(
      "grammar stateless has no state 7",
    );
    expect(tokensOf(await plain.sample(requests(3)))).toEqual(expected);
  });

  it("reports a request that can't be served in its place and serves the others", async () => {
    const good = { promptTokenIds: [1], maxTokens: 2, seed: 1 };
    const deadEnd = { id: "dead end", start: 0, states: [{ onText: 1, onToken: [] }, { onToken: [] }], reservedTokenIds: [] };
    const results = await plain.sample([
      { ...good, grammar: deadEnd },
      { ...good, signal: { aborted: true } },
      { ...good, topP: 0 },
      { ...good, temperature: -1 },
      { ...good, maxTokens: 0 },
      { ...good, samples: 1.5 },
      { ...good, stop: { strings: [""] } },
      good,
    ]);
    expect(results.slice(0, 7).map((result) => (result as Error).message)).toEqual([
      expect.stringMatching(/grammar dead end allows no token after \[\d+\]/),
      "sample: aborted",
      "sample: topP is 0: expected a number in (0, 1]",
      "sample: temperature is -1: expected 0 or more",
      "sample: maxTokens is 0: expected a positive integer",
      "sample: samples is 1.5: expected a positive integer",
      "sample: a stop string is empty: it would stop every output at once",
    ]);
    expect(results[7]).toHaveLength(1);
    const mute = await makeSampler({ decode: undefined });
    expect(((await mute.sample([{ ...good, stop: { strings: ["x"] } }]))[0] as Error).message).toMatch(/stop strings need a tokenizer/);
  });

  it("names damaged weights instead of sampling from NaN", async () => {
    const damaged = new Parameters(shape, { trainable: false });
    damaged.weights.fill(Number.NaN);
    const sampler = await EmbeddedSampler.create(damaged, { threads: 1, prefixCacheMegabytes: 0 });
    const [result] = await sampler.sample([{ promptTokenIds: [1, 2], maxTokens: 2, seed: 1 }]);
    expect((result as Error).message).toMatch(/gave no probabilities \(NaN\)/);
    await sampler.release();
  });
});
