/** Whether the engine means the same as transformers, on a real model and on random checkpoints: exits with 1 when a bound is broken. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { supportedArchitectures } from "../src/engine/embedded/architecture.ts";
import { writeModelFolder } from "../src/engine/embedded/hf-folder.ts";
import type { AdapterParameters } from "../src/engine/embedded/lora.ts";
import { writeAdapterFolder } from "../src/engine/embedded/peft-folder.ts";
import { TrainedModel } from "../src/engine/embedded/trained-model.ts";
import { loraTargets } from "../src/engine/engine.ts";
import { loadRenderer } from "../src/engine/hf-renderer.ts";
import { Rng } from "../src/rng.ts";
import { LineProcess } from "./line-process.ts";
import type { BenchmarkOptions } from "./options.ts";
import { compareGradients, compareGreedy, compareLogits, type ParityRun } from "./parity-checks.ts";
import { ParityReport } from "./parity-report.ts";
import { ParitySide } from "./parity-side.ts";
import { parityQuestions } from "./parity-texts.ts";
import { compareTokens } from "./parity-tokens.ts";

const lora = { rank: 8, alpha: 16, targets: loraTargets };
/** Texts that adapters and merged weights are compared on. */
const adaptedTexts = 6;
/** Each is sampled from several times: two groups of completions. */
const batchPrompts = 2;

/** Compares `--model`, and with `--random` a checkpoint of each architecture that the peer makes. */
export async function benchmarkParity(options: BenchmarkOptions): Promise<void> {
  const { peer: python, model, random = false, threads } = options;
  if (python === undefined) throw new Error("parity: --peer PYTHON is missing: a Python with torch, transformers, peft and gguf");
  if (model === undefined && !random) throw new Error("parity: give --model FOLDER_OR_GGUF, --random, or both");
  const folder = await mkdtemp(join(tmpdir(), "parity-"));
  const peerFile = fileURLToPath(new URL("peers/parity_peer.py", import.meta.url));
  const peer = LineProcess.start(python, [peerFile, JSON.stringify({ threads })]);
  const report = new ParityReport();
  try {
    await peer.receive();
    const run = { peer, report, folder, threads, quick: options.quick };
    if (model !== undefined) await compareRealModel(model, run);
    if (random) for (const architecture of supportedArchitectures) await compareRandomModel(architecture, run);
  } finally {
    await peer.close();
    await rm(folder, { recursive: true, force: true });
  }
  report.finish();
}

/** A model with its tokenizer: texts, chats, and everything that an adapter on it computes and exports. */
async function compareRealModel(model: string, run: ParityRun): Promise<void> {
  const { folder, threads } = run;
  const name = basename(model);
  await compareTokens(name, model, run);
  const renderer = await loadRenderer(model);
  const prompts = parityQuestions
    .slice(0, run.quick ? 3 : 20)
    .map((question) => renderer.renderConversation([{ role: "user", content: [{ data: question }] }]));
  const adapted = await ParitySide.load(model, threads, lora);
  const bare = adapted.bare();
  const texts = await compareLoaded(name, { model }, bare, prompts, run);
  await bare.close();
  await compareAdapter(name, model, adapted, { prompts, texts }, run);
  const merged = join(folder, "merged");
  const trained = new TrainedModel(adapted.parameters, adapted.adapter);
  await writeModelFolder(merged, trained, { source: model, endTokenIds: renderer.stopTokenIds });
  await loadPeer(`${name} + merged export`, { model: merged }, run);
  await compareLogits(`${name} + merged export`, adapted, texts.slice(0, adaptedTexts), run);
  await compareTokens(`${name} + merged export`, merged, run);
  await adapted.close();
}

/** A random checkpoint: no texts, but gradients of all weights too. */
async function compareRandomModel(architecture: string, run: ParityRun): Promise<void> {
  const { peer, folder, threads } = run;
  const model = join(folder, architecture);
  await peer.request({ task: "make", architecture, folder: model });
  const side = await ParitySide.load(model, threads);
  const rng = Rng.stream(1, "prompts", architecture);
  const prompts = Array.from({ length: run.quick ? 3 : 20 }, () =>
    Array.from({ length: 3 + rng.integer(120) }, () => 3 + rng.integer(side.parameters.shape.vocabularySize - 3)),
  );
  const texts = await compareLoaded(architecture, { model }, side, prompts, run);
  await compareGradients(architecture, side, prompts.slice(0, batchPrompts), run);
  await side.close();
  const adapted = await ParitySide.load(model, threads, lora);
  await compareAdapter(architecture, model, adapted, { prompts, texts }, run);
  const merged = join(folder, `${architecture}-merged`);
  await writeModelFolder(merged, new TrainedModel(adapted.parameters, adapted.adapter), { source: model });
  await loadPeer(`${architecture} + merged export`, { model: merged }, run);
  await compareLogits(`${architecture} + merged export`, adapted, texts.slice(0, adaptedTexts), run);
  await adapted.close();
}

type Tokens = readonly (readonly number[])[];

/** Loads what our side has; weights that are missing, unexpected or unused break the run. */
async function loadPeer(model: string, what: { readonly model: string; readonly adapter?: string }, run: ParityRun): Promise<void> {
  const { problems, ...loaded } = await run.peer.request<{ problems: object }>({ task: "load", ...what });
  const figures = { check: "missing, unexpected or unused weights", model, ...loaded, ...problems };
  run.report.check(figures, Object.keys(problems).length, 0);
}

/** @returns the prompts with our greedy continuations, on which logits were compared. */
async function compareLoaded(
  name: string,
  what: { readonly model: string },
  side: ParitySide,
  prompts: Tokens,
  run: ParityRun,
): Promise<Tokens> {
  await loadPeer(name, what, run);
  const continuations = await compareGreedy(name, side, prompts, run);
  const texts = prompts.map((prompt, index) => [...prompt, ...(continuations[index] as number[])]);
  await compareLogits(name, side, texts, run);
  return texts;
}

async function compareAdapter(
  name: string,
  model: string,
  adapted: ParitySide,
  { prompts, texts }: { readonly prompts: Tokens; readonly texts: Tokens },
  run: ParityRun,
): Promise<void> {
  const adapter = join(run.folder, `${name}-adapter`);
  await writeAdapterFolder(adapter, adapted.adapter as AdapterParameters, model);
  await loadPeer(`${name} + exported adapter`, { model, adapter }, run);
  await compareLogits(`${name} + exported adapter`, adapted, texts.slice(0, adaptedTexts), run);
  await compareGradients(`${name} + LoRA`, adapted, prompts.slice(0, batchPrompts), run);
}
