import { searchSteps } from "../agent/trajectory.ts";
import { InfrastructureError } from "../errors.ts";
import type { Trajectory } from "../types.ts";

/** The latest published version of each trained policy. */
export interface PolicyVersions {
  readonly main: number;
  /** Absent when the ranker doesn't train. */
  readonly ranker?: number;
}

/** Stale samplers are the classic silent fault of reinforcement learning: every token must come from the weights published last. */
export function assertFresh(trajectories: readonly Trajectory[], versions: PolicyVersions): void {
  for (const trajectory of trajectories) {
    for (const { output } of trajectory.turns) check("main", output.policyVersion, versions.main);
    if (versions.ranker === undefined) continue;
    for (const { rankerCall } of searchSteps(trajectory)) {
      if (rankerCall) check("ranker", rankerCall.output.policyVersion, versions.ranker);
    }
  }
}

function check(policy: string, sampled: number, published: number): void {
  if (sampled !== published)
    throw new Error(`the ${policy} policy's tokens were sampled with version ${sampled}, but ${published} is published`);
}

/** @throws InfrastructureError when every trajectory was cut short by a failing service, with the first one's reason. */
export function assertServed(trajectories: readonly Trajectory[], step: number): void {
  const [first] = trajectories;
  if (first === undefined || trajectories.some(({ stopReason }) => stopReason !== "infra_error")) return;
  throw new InfrastructureError(
    `step ${step}: none of ${trajectories.length} trajectories could be served, the first because ${first.error}; once that is mended, go on with --resume`,
  );
}
