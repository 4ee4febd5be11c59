import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ConfigError } from "../errors.ts";
import { writeAtomically } from "../files/atomic-file.ts";
import { allValues, defineStrictCommand, flags } from "./command.ts";
import { configText, type InitChoice, type InitModel, initModels } from "./init-text.ts";
import { loadConfig } from "./load-config.ts";

const atlasConfig = fileURLToPath(new URL("../../configs/atlas.yaml", import.meta.url));

/** `cosearch init`: a commented configuration to begin with. */
export const init = defineStrictCommand({
  meta: { name: "init", description: "Write a commented configuration for your case; it never replaces a file" },
  args: {
    out: { type: "string", description: "file to write; default cosearch.yaml", valueHint: "FILE" },
    model: {
      type: "string",
      description:
        "lora (an adapter on a small model), tiny (the package's own models: minutes, to see it work) or endpoint (a server; evaluates only); default lora",
      valueHint: "CASE",
    },
    name: {
      type: "string",
      description: "lora: model folder or Hugging Face name; endpoint: base address of the server",
      valueHint: "NAME",
    },
    corpus: { type: "string", description: "your passages: a file or folder; may be given several times", valueHint: "PATH" },
    train: { type: "string", description: "training questions: JSONL of {id, question, golden_answers[]}", valueHint: "FILE" },
    dev: { type: "string", description: "questions that select the checkpoint", valueHint: "FILE" },
    test: { type: "string", description: "held-out questions; default: the dev questions", valueHint: "FILE" },
    embedder: {
      type: "string",
      description: "an ONNX encoder: folder or Hugging Face name; absent: one that needs no download",
      valueHint: "NAME",
    },
    json: flags.json,
  },
  examples: [
    "cosearch init --corpus notes --train questions.train.jsonl --dev questions.dev.jsonl",
    "cosearch init --model endpoint --name http://127.0.0.1:8000/v1 --corpus wiki.jsonl.gz --train nq.jsonl --test nq.jsonl --out nq.yaml",
  ],
  async run({ args, rawArgs }) {
    const file = args.out ?? "cosearch.yaml";
    if (existsSync(file)) throw new ConfigError(`init: ${file} is there already: name another with --out, or move it away`);
    const folder = dirname(resolve(file));
    const seen = (path: string | undefined) => (path === undefined ? undefined : fromFolder(folder, path));
    const choice: InitChoice = {
      model: modelOf(args.model ?? "lora"),
      ...(args.name === undefined ? {} : { name: args.name }),
      corpus: allValues("corpus", rawArgs).map((path) => fromFolder(folder, path)),
      train: seen(args.train),
      dev: seen(args.dev),
      test: seen(args.test),
      embedder: args.embedder,
      base: fromFolder(folder, atlasConfig),
    };
    await mkdir(folder, { recursive: true });
    await writeAtomically(file, configText(choice));
    // What was written is a configuration: read it as every command will.
    loadConfig({ file });
    const next = nextCommands(choice.model, file);
    if (args.json) process.stdout.write(`${JSON.stringify({ file, next })}\n`);
    else process.stdout.write(`${file} is written: look through it, then\n${next.map((command) => `  ${command}\n`).join("")}`);
  },
});

/** What to do with the file, in this order. */
function nextCommands(model: InitModel, file: string): string[] {
  const doctor = `cosearch doctor --config ${file}`;
  if (model === "endpoint") return [doctor, `cosearch evaluate --config ${file}`];
  if (model === "tiny") return [doctor, `cosearch train --config ${file}`];
  // A language model has the formats to learn before there is anything to reward.
  return [doctor, `cosearch warm-start --config ${file} --write-config warm.yaml`, "cosearch train --config warm.yaml"];
}

function modelOf(text: string): InitModel {
  const found = initModels.find((model) => model === text);
  if (found === undefined) throw new ConfigError(`init: --model ${text}: expected ${initModels.join(", ")}`);
  return found;
}

/** A path as the file in `folder` names it; names of the Hub and addresses stay. */
function fromFolder(folder: string, path: string): string {
  if (path.includes("://")) return path;
  const inside = relative(folder, resolve(path));
  return inside === "" ? "." : inside;
}
