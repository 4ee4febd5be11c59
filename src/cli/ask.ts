import { rollout } from "../agent/rollout.ts";
import { ConfigError, InfrastructureError } from "../errors.ts";
import type { Question } from "../types.ts";
import { answerText, describeAnswer } from "./answer-text.ts";
import { chooseAnswerer } from "./answerer.ts";
import { allValues, defineStrictCommand, flags } from "./command.ts";
import { Interrupted, listenForInterrupt } from "./interrupt.ts";
import { showingBuild } from "./showing-build.ts";
import { answeringParts, openWiring, publishCheckpoint } from "./wiring.ts";

/** `cosearch ask`: one question, with everything the agent and the ranker do. */
export const ask = defineStrictCommand({
  meta: { name: "ask", description: "Ask a question and watch the agent think, search, read and answer" },
  args: {
    question: { type: "positional", description: "the question, in quotes", required: false },
    run: { ...flags.run, description: "run folder, or a study folder (its CoSearch system answers)" },
    checkpoint: flags.checkpoint,
    config: { ...flags.config, description: "instead of a trained run: ask the configured models, or servers, as they are" },
    set: flags.set,
    json: flags.json,
  },
  examples: [
    'cosearch ask "What is the capital of Angola?" --run runs/atlas-quick',
    'cosearch ask "Who leads Chad?" --run runs/atlas-quick --json',
    'cosearch ask "Who leads Chad?" --config configs/server.yaml',
  ],
  async run({ args, rawArgs }) {
    const text = args.question?.trim() ?? "";
    if (text === "")
      throw new ConfigError('ask: give a question in quotes, e.g. cosearch ask "What is the capital of Angola?" --run runs/atlas-quick');
    const { config, folder, checkpoint } = await chooseAnswerer("ask", { ...args, set: allValues("set", rawArgs) });
    if (config.system === "oracle")
      throw new ConfigError(`${args.config ?? folder} holds an oracle, which has to know the answer beforehand: ask another system`);
    const interrupt = listenForInterrupt(() => undefined);
    const opened = await showingBuild(args.json === true, interrupt.signal, (options) => openWiring(config, "answering", options));
    try {
      await publishCheckpoint(config, opened.wiring, checkpoint);
      const question: Question = { id: "asked", question: text, goldAnswers: [], dataset: "", split: "" };
      const trajectory = await rollout({
        question,
        index: 0,
        sampler: opened.wiring.main.engine,
        ...answeringParts(config, opened.wiring),
        limits: config.agent,
        temperature: 0,
        topP: 1,
        seed: (turn) => turn,
        signal: interrupt.signal,
      });
      const answer = describeAnswer(text, trajectory);
      process.stdout.write(args.json ? `${JSON.stringify(answer, null, 2)}\n` : `${answerText(answer, process.stdout.isTTY === true)}\n`);
      if (trajectory.stopReason === "infra_error") throw new InfrastructureError(`no answer: ${trajectory.error ?? "a service failed"}`);
    } catch (error) {
      if (interrupt.signal.aborted) throw new Interrupted("interrupted");
      throw error;
    } finally {
      interrupt.release();
      await opened.close();
    }
  },
});
