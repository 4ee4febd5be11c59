/**
 * Whether the embedded engine computes what transformers, PyTorch and peft compute: `npm run bench -- parity --peer PYTHON` with
 * `--model FOLDER_OR_GGUF` for a real model, and with `--random` for random checkpoints of every architecture.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { supportedArchitectures } from "../src/engine/embedded/architecture.ts";
import { loadModelFolder, writeModelFolder } from "../src/engine/embedded/hf-folder.ts";
import { AdapterParameters } from "../src/engine/embedded/lora.ts";
import { readAdapterFolder, writeAdapterFolder } from "../src/engine/embedded/peft-folder.ts";
import { TrainedModel } from "../src/engine/embedded/trained-model.ts";
import { loraTargets } from "../src/engine/engine.ts";
import { loadRenderer } from "../src/engine/hf-renderer.ts";
import { Rng } from "../src/rng.ts";
import { LineProcess } from "./line-process.ts";
import { type BenchmarkOptions, printLine } from "./options.ts";
import { gradientParity, greedyParity, type Pair, scoreParity } from "./parity-numbers.ts";
import { parityQuestions } from "./parity-texts.ts";
import { tokenParity } from "./parity-tokens.ts";

/** Log-probabilities in nats, absolute; loss and gradients relative; a logit gap below which another token is a matter of rounding. */
const most = { logprob: 1e-3, relative: 1e-3, nearTie: 1e-4 };

/** How much is compared. */
interface Sizes {
  readonly texts: number;
  readonly prompts: number;
  readonly greedyTokens: number;
  readonly completionTokens: number;
}

const whole: Sizes = { texts: 500, prompts: 20, greedyTokens: 64, completionTokens: 48 };
const quick: Sizes = { texts: 120, prompts: 3, greedyTokens: 8, completionTokens: 8 };

/** One model on both sides. */
interface Case {
  readonly name: string;
  readonly model: string;
  readonly prompts: readonly (readonly number[])[];
  /** Also whole weights, not only an adapter. */
  readonly full: boolean;
}

/** Compares and prints one JSON line a check. @throws when a bound is broken, after all was compared. */
export async function compareWithPeer(options: BenchmarkOptions): Promise<void> {
  if (options.peer === undefined) throw new Error("parity needs --peer PYTHON, with PyTorch, transformers and peft");
  if (options.model === undefined && !options.random) throw new Error("parity needs --model FOLDER_OR_GGUF, or --random, or both");
  const sizes = options.quick ? quick : whole;
  const folder = await mkdtemp(join(tmpdir(), "parity-"));
  const script = new URL("peers/parity_peer.py", import.meta.url).pathname;
  const peer = LineProcess.start(options.peer, [script, JSON.stringify({ threads: options.threads })]);
  const broken: string[] = [];
  const report = (name: string, check: string, figures: object, holds: boolean) => {
    printLine({ model: name, check, ...figures, holds });
    if (!holds) broken.push(`${name}: ${check}`);
  };
  try {
    await peer.receive();
    if (options.model !== undefined) {
      const tokens = await tokenParity(peer, options.model, sizes.texts);
      report("real", "tokens", tokens, tokens.different === 0);
      const renderer = await loadRenderer(options.model);
      const prompts = parityQuestions
        .slice(0, sizes.prompts)
        .map((question) => renderer.renderConversation([{ role: "user", content: [{ data: question }] }]));
      await compareCase(
        peer,
        { name: "real", model: options.model, prompts, full: false },
        { folder, sizes, threads: options.threads, report },
      );
    }
    for (const architecture of options.random ? supportedArchitectures : []) {
      const model = join(folder, architecture);
      await peer.request({ task: "make", architecture, folder: model });
      const prompts = randomPrompts(sizes.prompts);
      await compareCase(peer, { name: architecture, model, prompts, full: true }, { folder, sizes, threads: options.threads, report });
    }
  } finally {
    await peer.close();
    await rm(folder, { recursive: true, force: true });
  }
  if (broken.length > 0) throw new Error(`parity is broken: ${broken.join("; ")}`);
}

/** Of 5 to 150 tokens of the random checkpoints' vocabulary, special ones left out. */
function randomPrompts(count: number): number[][] {
  const rng = Rng.stream(4, "prompts");
  return Array.from({ length: count }, () => Array.from({ length: 5 + rng.integer(146) }, () => 3 + rng.integer(8189)));
}

interface Setting {
  readonly folder: string;
  readonly sizes: Sizes;
  readonly threads: number;
  readonly report: (name: string, check: string, figures: object, holds: boolean) => void;
}

async function compareCase(peer: LineProcess, one: Case, { folder, sizes, threads, report }: Setting): Promise<void> {
  const { name, model, prompts, full } = one;
  const load = async (path: string, adapter: string | null = null) => {
    const loaded = await peer.request<{ problems: object }>({ task: "load", model: path, adapter });
    report(name, `loading ${adapter === null ? "" : "with adapter"}`.trim(), loaded, Object.keys(loaded.problems).length === 0);
  };
  const score = async (check: string, pair: Pair) => {
    const scores = await scoreParity(pair, prompts, 2);
    report(name, check, scores, scores.tokens <= most.logprob && scores.vocabulary <= most.logprob);
  };
  const gradient = async (check: string, pair: Pair) => {
    const found = await gradientParity(pair, prompts.slice(0, 2), sizes.completionTokens);
    const worst = Math.max(found.lossDifference, found.figuresDifference, found.gradientDifference);
    report(name, check, found, worst <= most.relative && found.clipFraction > 0);
  };
  await load(model);
  const parameters = await loadModelFolder(model, { trainable: full });
  const plain: Pair = { peer, parameters, threads, folder };
  await score("log-probabilities", plain);
  const greedy = await greedyParity(plain, prompts, sizes.greedyTokens);
  report(
    name,
    "greedy",
    greedy,
    greedy.departures.every(({ gap }) => gap < most.nearTie),
  );
  if (full) await gradient("gradient of all weights", plain);

  const adapterFolder = join(folder, `${name}-adapter`);
  const written = randomAdapter(parameters.shape);
  await writeAdapterFolder(adapterFolder, written, model);
  await load(model, adapterFolder);
  const adapted: Pair = { ...plain, adapter: await readAdapterFolder(adapterFolder, parameters.shape) };
  await score("log-probabilities with the adapter, loaded by peft", adapted);
  await gradient("gradient of the adapter", adapted);

  const merged = join(folder, `${name}-merged`);
  await writeModelFolder(merged, new TrainedModel(parameters, written), { source: model });
  await load(merged);
  await score("log-probabilities of the merged export", adapted);
}

/** An adapter of every projection with an effect. */
function randomAdapter(shape: ConstructorParameters<typeof AdapterParameters>[0]): AdapterParameters {
  const adapter = new AdapterParameters(shape, { rank: 8, alpha: 16, targets: loraTargets });
  adapter.initialise(5);
  const rng = Rng.stream(5, "effect");
  for (const { name } of adapter.specs) {
    if (!name.endsWith(".lora_B.weight")) continue;
    const weights = adapter.view(name);
    for (let index = 0; index < weights.length; index++) weights[index] = 0.02 * rng.normal();
  }
  return adapter;
}
