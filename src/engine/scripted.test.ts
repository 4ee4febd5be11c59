import { describe, expect, it } from "vitest";
import { ScriptedSampler } from "./scripted.ts";

const encode = (text: string) => [...text].map((letter) => letter.charCodeAt(0));
const decode = (tokenIds: readonly number[]) => String.fromCharCode(...tokenIds);

describe("ScriptedSampler", () => {
  it("says what its script says, per prompt and sample", async () => {
    const sampler = new ScriptedSampler((prompt, _, index) => `${decode(prompt)}${index}`, { encode, decode });
    sampler.policyVersion = 4;
    const outputs = await sampler.sample({ promptTokenIds: encode("a"), samples: 2, maxTokens: 9, seed: 1 });
    expect(outputs.map(({ text }) => text)).toEqual(["a0", "a1"]);
    expect(outputs[1]).toEqual({ tokenIds: encode("a1"), logprobs: [-0.5, -0.5], text: "a1", finishReason: "stop", policyVersion: 4 });
    expect(sampler.requests).toHaveLength(1);
  });

  it("cuts at maxTokens", async () => {
    const sampler = new ScriptedSampler(() => "long", { encode, decode });
    const [output] = await sampler.sample({ promptTokenIds: [1], maxTokens: 2, seed: 1 });
    expect(output).toMatchObject({ text: "lo", finishReason: "length" });
  });

  it("takes tokens as they are", async () => {
    const sampler = new ScriptedSampler(() => ({ tokenIds: [7, 8], text: "x" }), { logprob: -1 });
    const [output] = await sampler.sample({ promptTokenIds: [1], maxTokens: 2, seed: 1 });
    expect(output).toMatchObject({ tokenIds: [7, 8], logprobs: [-1, -1], text: "x", finishReason: "stop" });
  });

  it("refuses text without an encoder, and aborted requests", async () => {
    const sampler = new ScriptedSampler(() => "x");
    await expect(sampler.sample({ promptTokenIds: [1], maxTokens: 2, seed: 1 })).rejects.toThrow(/give the option `encode`/);
    await expect(sampler.sample({ promptTokenIds: [1], maxTokens: 2, seed: 1, signal: AbortSignal.abort() })).rejects.toThrow(/abort/);
  });
});
