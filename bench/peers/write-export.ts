/**
 * Writes a model folder with the engine and, beside it, what the engine computes with it, for check-export.py:
 * `npx tsx bench/peers/write-export.ts llama FOLDER && python bench/peers/check-export.py FOLDER FOLDER.json`
 */
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { supportedArchitectures } from "../../src/engine/embedded/architecture.ts";
import { createEmbeddedEngine } from "../../src/engine/embedded/embedded-engine.ts";
import { loadRenderer } from "../../src/engine/hf-renderer.ts";
import { Rng } from "../../src/rng.ts";

const architecture = supportedArchitectures.find((name) => name === process.argv[2]);
const folder = process.argv[3];
if (architecture === undefined || folder === undefined)
  throw new Error(`usage: write-export.ts ${supportedArchitectures.join("|")} FOLDER`);

const tokenizerFolder = fileURLToPath(new URL("../../test/fixtures/engine/tokenizer", import.meta.url));
const vocabularySize = 320;
const shape = {
  architecture,
  vocabularySize,
  hiddenSize: 64,
  layers: 3,
  heads: 4,
  keyValueHeads: 2,
  headSize: 16,
  intermediateSize: 96,
  rmsNormEps: 1e-6,
  ropeTheta: 1e6,
  maxPositions: 128,
  qkvBias: architecture === "qwen2",
  queryKeyNorm: false,
  tiedHead: architecture === "qwen2",
};
const engine = await createEmbeddedEngine({ shape, seed: 1, initialDeviation: 0.3, tokenizerFolder, threads: 1 });
const rng = new Rng(2);
const sequences = [5, 40, 128].map((length) => {
  const tokenIds = Array.from({ length }, () => rng.integer(vocabularySize));
  return { tokenIds, mask: tokenIds.map((_, index): 0 | 1 => (index === 0 ? 0 : 1)) };
});
// One update, so that biases are not zero and it is the trained weights that are exported.
const examples = sequences.map(({ tokenIds, mask }) => {
  const unused = tokenIds.map(() => 0);
  return { policy: "main" as const, groupKey: "", tokenIds, mask, logprobs: unused, advantages: unused, weights: mask };
});
await engine.forwardBackward(examples, { kind: "cross-entropy" });
await engine.optimStep({ learningRate: 0.05, beta1: 0.9, beta2: 0.98, eps: 1e-8, weightDecay: 0, maxGradNorm: 1 });
await engine.exportModel(folder);

const logprobs = await engine.logprobs(sequences);
const renderer = await loadRenderer(folder);
const texts = ["Hello, world!", "東京 😀", "<answer>42</answer><|end|>", " x  y\n"];
const reference = {
  sequences: sequences.map(({ tokenIds }, index) => ({ tokenIds, logprobs: logprobs[index] })),
  texts: texts.map((text) => ({ text, tokenIds: renderer.encodeMarkup(text) })),
};
await writeFile(`${folder}.json`, `${JSON.stringify(reference)}\n`);
await engine.close();
