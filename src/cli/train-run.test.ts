import { expect, test } from "vitest";
import { tinyConfig } from "../../test/fixtures/training/tiny-run.ts";
import type { StepMetrics } from "../training/metrics.ts";
import { roomAdvice } from "./train-run.ts";

test("a step in which most trajectories ran out of room is told once, with the settings that give room", () => {
  const advise = roomAdvice(tinyConfig());
  const after = (step: number, truncated: number) => advise({ step, truncated, trajectories: 12 } as StepMetrics);
  expect(after(1, 6)).toBeUndefined();
  const advice = after(2, 7);
  expect(advice).toMatch(/^step 2: 7 of 12 trajectories ran out of room/);
  for (const setting of ["agent.maxResponseTokens (160", "agent.observationCharacters (4096)", "retrieval.passageWords (100)"]) {
    expect(advice).toContain(setting);
  }
  expect(after(3, 12)).toBeUndefined();
});
