import { describe, expect, it } from "vitest";
import { DataError } from "../errors.ts";
import { mainReward } from "./main-reward.ts";

describe("mainReward (Eq. 4)", () => {
  const goldAnswers = ["Oslo", "Christiania"];

  it.each([
    ["right", { formatValid: true, answer: "oslo" }, 1, 1],
    ["partly right", { formatValid: true, answer: "Oslo or Rome" }, 0.5, 0.5],
    ["wrong", { formatValid: true, answer: "Rome" }, 0, 0],
    ["without an answer", { formatValid: true }, 0, 0],
    ["right in the wrong format", { formatValid: false, answer: "Oslo" }, 1, -0.2],
    ["malformed and without an answer", { formatValid: false }, 0, -0.2],
  ])("%s", (_what, outcome, answerF1, total) => {
    expect(mainReward({ ...outcome, goldAnswers })).toEqual({ formatValid: outcome.formatValid, answerF1, total });
  });

  it("takes α and the profile from the options", () => {
    expect(mainReward({ formatValid: false, goldAnswers }, { formatPenalty: 0.5 }).total).toBe(-0.5);
    expect(mainReward({ formatValid: true, answer: "well–known", goldAnswers: ["well known"] }, { profile: "unicode" }).total).toBe(1);
  });

  it("calls a question without gold answers a data error, answer or not", () => {
    expect(() => mainReward({ formatValid: false, goldAnswers: [] })).toThrow(DataError);
  });
});
