/** ONE joint training step (Sections 3.2-3.4), read from top to bottom. All input and output is the trainer's. */
import type { AgentProtocol } from "../agent/protocol.ts";
import { rollout } from "../agent/rollout.ts";
import type { Config } from "../config.ts";
import { rankerExample, trajectoryExample } from "../grpo/examples.ts";
import type { RankerProtocol } from "../ranker/prompt.ts";
import type { Search } from "../retrieval/search.ts";
import { deriveSeed } from "../rng.ts";
import type { Question } from "../types.ts";
import { anchorExamples } from "./anchor.ts";
import { type ComparedGroup, chunks, compare, examplesOf } from "./compare.ts";
import { assertFresh, assertServed, type PolicyVersions } from "./freshness.ts";
import { type StepMetrics, stepMetrics } from "./metrics.ts";
import { PhaseClock } from "./phase-clock.ts";
import { groupRankerCalls, type RankerCallOutcome, scoreRankerCalls, scoreTrajectory, type TrajectoryOutcome } from "./scoring.ts";
import { type PolicyPart, type PolicyUpdate, updatePolicy, updateTogether } from "./update.ts";
import type { PolicyWiring } from "./wiring.ts";

/** What all steps of a run share. */
export interface StepContext {
  readonly config: Config;
  readonly protocol: AgentProtocol;
  readonly search: Search;
  /**
   * Puts the current weights where `sample` uses them. It also empties the engines' prefix caches: a step must not depend on what was sampled
   * before it (an evaluation, the steps before a restart), not even in the last bits.
   */
  readonly publish: () => Promise<PolicyVersions>;
  readonly main: PolicyWiring;
  /** Present when the ranker trains too. */
  readonly ranker?: PolicyWiring & { readonly protocol: RankerProtocol };
}

/** A step's metrics and the groups behind them. */
export interface StepResult {
  readonly metrics: StepMetrics;
  /** The groups that were compared, a question each. */
  readonly mainGroups: readonly ComparedGroup<TrajectoryOutcome>[];
  readonly rankerGroups: readonly (readonly ComparedGroup<RankerCallOutcome>[])[];
}

/**
 * Step `step` (from 1) with these questions. `signal` ends the rollouts, never an update half-way: when this rejects because of it, no
 * weight has changed.
 * @throws InfrastructureError when no trajectory at all could be served: there is nothing to learn from, and going on would not help.
 */
export async function trainStep(
  context: StepContext,
  { step, questions, signal }: { readonly step: number; readonly questions: readonly Question[]; readonly signal?: AbortSignal },
): Promise<StepResult> {
  const { config, protocol, main, ranker } = context;
  const { agent, grpo, training } = config;
  const clock = new PhaseClock<"rollout" | "rank" | "updateMain" | "updateRanker">();

  const versions = await context.publish();

  // Rollouts: G trajectories a question, all at once; whatever waits at the same time is sampled as one batch.
  const search: Search = (request) => clock.during("rank", () => context.search(request));
  const rolled = await clock.during("rollout", () =>
    Promise.all(
      questions.map((question) =>
        Promise.all(
          Array.from({ length: grpo.groupSize }, (_, index) =>
            rollout({
              question,
              index,
              protocol,
              sampler: main.engine,
              search,
              limits: agent,
              temperature: agent.temperature,
              topP: agent.topP,
              seed: (turn) => deriveSeed(config.seed, "rollout", step, question.id, index, turn),
              signal,
            }),
          ),
        ),
      ),
    ),
  );
  assertFresh(rolled.flat(), versions);
  assertServed(rolled.flat(), step);

  // Main rewards (Eq. 4), grouped by question; trajectories that a failing service cut short, or in which nothing was written, are not compared.
  const mainGroups = questions.map((question, position) => {
    const finished = (rolled[position] ?? []).filter(({ stopReason, turns }) => stopReason !== "infra_error" && turns.length > 0);
    const members = finished.map((trajectory) => scoreTrajectory(question, trajectory, config));
    return compare({ key: question.id, members });
  });
  const mainExamples = mainGroups.map((group) =>
    examplesOf(group, ({ trajectory }, labels) => trajectoryExample(trajectory, { ...labels, grammar: protocol.grammar })),
  );

  // Ranker rewards (Eq. 6), grouped by what was asked and whether the answer was there (Eq. 5, Alg. 2), within each question.
  const rankerCalls = mainGroups.map(({ members }) => members.flatMap((outcome) => scoreRankerCalls(outcome, config)));
  const grouped = rankerCalls.map((calls) => groupRankerCalls(calls, config.grouping));
  const rankerGroups = grouped.map(({ kept }) => kept.map(compare));
  // A frozen ranker trains on nothing; one on a server tells no log-probabilities either.
  const rankerExamples = (ranker ? rankerGroups : []).map((groups) =>
    groups.flatMap((group) =>
      examplesOf(group, ({ call }, labels) =>
        rankerExample(call, { ...labels, grammar: ranker?.protocol.grammar(call.candidates.length) }),
      ),
    ),
  );

  // Updates: minibatches of questions. Both policies at once, as their engines are independent; those of a shared backbone as one.
  const anchors = chunks(mainGroups, training.questionsPerMinibatch).map((groups) =>
    anchorExamples(groups, training.supervisedAnchor, protocol.grammar),
  );
  const mainBatches = chunks(mainExamples, training.questionsPerMinibatch).map((examples, index) => ({
    examples: examples.flat(),
    anchors: anchors[index],
  }));
  const rankerBatches = chunks(rankerExamples, training.questionsPerMinibatch).map((examples) => ({ examples: examples.flat() }));
  const mainPart: PolicyPart = { policy: "main", wiring: main, minibatches: mainBatches };
  const rankerPart: PolicyPart | undefined = ranker && { policy: "ranker", wiring: ranker, minibatches: rankerBatches };
  const [mainUpdate, rankerUpdate] = (
    rankerPart && ranker?.engine === main.engine
      ? await clock.during("updateMain", () => updateTogether([mainPart, rankerPart], step, config))
      : await Promise.all([
          clock.during("updateMain", () => updatePolicy(mainPart, step, config)),
          rankerPart && clock.during("updateRanker", () => updatePolicy(rankerPart, step, config)),
        ])
  ) as [PolicyUpdate, PolicyUpdate | undefined];

  const facts = { step, config, trajectories: rolled.flat(), mainGroups, rankerCalls, grouped, rankerGroups };
  const metrics = stepMetrics({ ...facts, mainUpdate, rankerUpdate, clock });
  return { metrics, mainGroups, rankerGroups };
}
