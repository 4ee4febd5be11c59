import { describe, expect, it } from "vitest";
import { Rng } from "../../rng.ts";
import { type ChoiceOptions, chooseToken } from "./choose-token.ts";

const row = Float32Array.from([0.5, 0.125, 0.25, 0.125]);
const options = (change: Partial<ChoiceOptions> = {}): ChoiceOptions => ({ rng: new Rng(1), greedy: false, topP: 1, ...change });

/** How often each token comes in 20,000 draws. */
function frequencies(change: Partial<ChoiceOptions>): number[] {
  const drawn = [0, 0, 0, 0];
  const drawOptions = options({ rng: new Rng(9), ...change });
  for (let draw = 0; draw < 20_000; draw++) {
    const token = chooseToken(row, 0, 4, drawOptions)?.token as number;
    drawn[token] = (drawn[token] as number) + 1 / 20_000;
  }
  return drawn;
}

function expectClose(actual: readonly number[], expected: readonly number[]): void {
  // Four standard errors of the largest frequency.
  actual.forEach((value, index) => {
    expect(Math.abs(value - (expected[index] as number))).toBeLessThan(0.015);
  });
}

describe("chooseToken", () => {
  it("draws with the given probabilities", () => expectClose(frequencies({}), [0.5, 0.125, 0.25, 0.125]));

  it("renormalises over what a grammar allows, however it is listed", () => {
    expectClose(frequencies({ allowed: { allowed: Int32Array.of(1, 2) } }), [0, 1 / 3, 2 / 3, 0]);
    expectClose(frequencies({ allowed: { forbidden: Int32Array.of(0, 3) } }), [0, 1 / 3, 2 / 3, 0]);
    const first = chooseToken(row, 0, 4, options({ allowed: { allowed: Int32Array.of(2) } }));
    const second = chooseToken(row, 0, 4, options({ allowed: { forbidden: Int32Array.of(0, 1, 3) } }));
    expect(first).toEqual({ token: 2, logprob: 0 });
    expect(second).toEqual(first);
    expect(chooseToken(row, 0, 4, options({ allowed: { forbidden: Int32Array.of(0) }, greedy: true }))).toEqual({
      token: 2,
      logprob: Math.log(0.5),
    });
    expect([...row]).toEqual([0.5, 0.125, 0.25, 0.125]);
  });

  it("keeps the most probable tokens up to topP and reports the whole distribution", () => {
    expectClose(frequencies({ topP: 0.6 }), [2 / 3, 0, 1 / 3, 0]);
    expectClose(frequencies({ topP: 0.8 }), [4 / 7, 1 / 7, 2 / 7, 0]);
    expect(chooseToken(row, 0, 4, options({ topP: 0.4 }))).toEqual({ token: 0, logprob: Math.log(0.5) });
    expectClose(frequencies({ topP: 0.5, allowed: { allowed: Int32Array.of(1, 2) } }), [0, 0, 1, 0]);
  });

  it("is greedy without drawing", () => {
    const rng = new Rng(3);
    const choice = chooseToken(row, 0, 4, options({ rng, greedy: true, allowed: { allowed: Int32Array.of(1, 3) } }));
    expect(choice).toEqual({ token: 1, logprob: Math.log(0.5) });
    expect(rng.state).toBe(3);
  });

  it("reads its own row", () => {
    const two = Float32Array.from([...row, 0, 0, 1, 0]);
    expect(chooseToken(two, 1, 4, options())).toEqual({ token: 2, logprob: 0 });
  });

  it("takes the last token with any mass when rounding leaves the sum below the draw", () => {
    const almost = { state: 0, uniform: () => 0.9999999 } as unknown as Rng;
    expect(chooseToken(Float32Array.from([0.4, 0.5, 0]), 0, 3, options({ rng: almost }))?.token).toBe(1);
  });

  it("has no choice among nothing or NaN, and takes an allowed token without mass", () => {
    expect(chooseToken(row, 0, 4, options({ allowed: { allowed: new Int32Array(0) } }))).toBeUndefined();
    expect(chooseToken(new Float32Array(4).fill(Number.NaN), 0, 4, options({ greedy: true }))).toBeUndefined();
    expect(chooseToken(new Float32Array(4).fill(Number.NaN), 0, 4, options())).toBeUndefined();
    expect(chooseToken(Float32Array.of(1, 0), 0, 2, options({ allowed: { allowed: Int32Array.of(1) } }))).toEqual({
      token: 1,
      logprob: -87,
    });
  });
});
