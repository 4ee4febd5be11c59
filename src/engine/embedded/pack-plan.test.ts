import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lengthMultiple, planBatches, planSequence, type SequencePlan } from "./pack-plan.ts";

const list = (length: number, value: number) => Array.from({ length }, () => value);
/** A prompt of `prompt` tokens (all equal to `which`) and `output` trained ones. */
const sequence = (which: number, prompt: number, output: number) => ({
  tokenIds: [...list(prompt, which), ...list(output, 99)],
  mask: [...list(prompt, 0), ...list(output, 1)],
});

function plan(sequences: readonly ReturnType<typeof sequence>[], maxTokens: number, pack: boolean, maxRow = 512) {
  const plans = sequences.flatMap(({ mask }, index) => planSequence(index, mask) ?? []);
  return planBatches(plans, (index) => sequences[index]?.tokenIds ?? [], { maxTokens, maxRow, pack });
}

describe("planSequence", () => {
  it("finds the first and last trained positions, across observations", () => {
    expect(planSequence(3, [0, 0, 1, 1, 0, 0, 1, 0])).toEqual({ index: 3, first: 2, last: 6 });
    expect(planSequence(3, [0, 0])).toBeUndefined();
  });
});

describe("planBatches", () => {
  it("computes a shared prompt once: eight outputs of 10 tokens after 201 prompt tokens take 280 tokens instead of 1,680", () => {
    const batches = plan(
      list(8, 0).map(() => sequence(1, 201, 10)),
      4096,
      true,
    );
    expect(batches.map(({ rows, packed }) => ({ lengths: rows.map((row) => row.length), packed }))).toEqual([
      { lengths: [280], packed: true },
    ]);
  });

  it("keeps a row within twice its prompt", () => {
    const batches = plan(
      list(8, 0).map(() => sequence(1, 21, 10)),
      4096,
      true,
    );
    expect(batches[0]?.rows.map((row) => row.sequences.length)).toEqual([2, 2, 2, 2]);
  });

  it("keeps a row within the longest sequence of the model, padding included", () => {
    const batches = plan(
      list(8, 0).map(() => sequence(1, 201, 10)),
      4096,
      true,
      250,
    );
    expect(batches.map(({ length, rows }) => [length, rows.map((row) => row.sequences.length)])).toEqual([[250, [5, 3]]]);
    expect(plan([sequence(1, 200, 50)], 4096, true, 251).map(({ length }) => length)).toEqual([251]);
  });

  const anySequence = fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 30 }));
  it("plans every sequence once, within the token budget", () => {
    fc.assert(
      fc.property(fc.array(anySequence), fc.boolean(), fc.constantFrom(64, 128, 1000), (shapes, pack, maxTokens) => {
        const sequences = shapes.map(([which, prompt, output]) => sequence(which, prompt, output));
        const batches = plan(sequences, maxTokens, pack);
        const planned = batches.flatMap(({ rows }) => rows.flatMap((row) => row.sequences));
        expect(planned.map(({ index }: SequencePlan) => index).sort((a, b) => a - b)).toEqual(sequences.map((_, index) => index));
        for (const { rows, length, packed } of batches) {
          expect(length % lengthMultiple).toBe(0);
          expect(rows.length === 1 || rows.length * length <= maxTokens).toBe(true);
          for (const row of rows) {
            expect(row.length).toBe(row.shared + row.sequences.reduce((sum, one) => sum + one.last - row.shared, 0));
            expect(row.length).toBeLessThanOrEqual(length);
            expect(row.sequences.length > 1).toBe(packed);
          }
        }
      }),
    );
  });
});
