import { ConfigError } from "../../errors.ts";
import type { Sampler, TrainableEngine } from "../engine.ts";

/** A sampler where an engine is expected: it publishes nothing, and every verb of training rejects with a ConfigError naming the section. */
export function inferenceOnly(sampler: Sampler, section: string): TrainableEngine {
  const refuse = async (): Promise<never> => {
    throw new ConfigError(`${section}: a server's weights can't be trained, scored, saved or loaded from here: train a model of your own`);
  };
  return {
    sample: (request) => sampler.sample(request),
    close: () => sampler.close(),
    publish: async () => 0,
    logprobs: refuse,
    forwardBackward: refuse,
    optimStep: refuse,
    saveState: refuse,
    loadState: refuse,
    exportModel: refuse,
  };
}
