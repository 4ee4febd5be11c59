import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bagF1, normalizeQuery } from "../text.ts";
import { questionGroups, semanticGroups } from "./semantic-groups.ts";

const asCalls = (queries: readonly string[], answerInCandidates = true) =>
  queries.map((query, index) => ({ query, answerInCandidates, index }));
const indices = (groups: readonly { readonly members: readonly { readonly index: number }[] }[]) =>
  groups.map((group) => group.members.map((call) => call.index));

const word = fc.constantFrom("height", "of", "k2", "the", "Danube", "length", "river", "peak");
const calls = fc.array(
  fc.record({ query: fc.array(word, { minLength: 1, maxLength: 6 }).map((list) => list.join(" ")), answerInCandidates: fc.boolean() }),
  { maxLength: 24 },
);
const options = fc.record({
  similarityThreshold: fc.double({ min: 0, max: 1, noNaN: true }),
  minGroupSize: fc.integer({ min: 1, max: 4 }),
});

describe("semanticGroups (Eq. 5, Alg. 2)", () => {
  it("partitions the calls when no group is too small, in call order within each group", () => {
    fc.assert(
      fc.property(calls, options, (list, { similarityThreshold }) => {
        const indexed = list.map((call, index) => ({ ...call, index }));
        const groups = indices(semanticGroups(indexed, { similarityThreshold, minGroupSize: 1 }));
        expect(groups.flat().sort((a, b) => a - b)).toEqual(indexed.map((call) => call.index));
        for (const group of groups) expect(group).toEqual([...group].sort((a, b) => a - b));
      }),
    );
  });

  it("never mixes answer availability, keeps only groups of k_min, and every member resembles its representative", () => {
    fc.assert(
      fc.property(calls, options, (list, chosen) => {
        const groups = semanticGroups(list, chosen);
        expect(new Set(groups.map((group) => group.key)).size).toBe(groups.length);
        for (const group of groups) {
          expect(group.members.length).toBeGreaterThanOrEqual(chosen.minGroupSize);
          expect(group.representativeQuery).toBe(group.members[0]?.query);
          const representative = normalizeQuery(group.representativeQuery ?? "").split(" ");
          for (const member of group.members) {
            expect(member.answerInCandidates).toBe(group.answerInCandidates);
            if (member !== group.members[0])
              expect(bagF1(representative, normalizeQuery(member.query).split(" "))).toBeGreaterThanOrEqual(chosen.similarityThreshold);
          }
        }
      }),
    );
  });

  it("drops exactly the groups that are too small", () => {
    fc.assert(
      fc.property(calls, options, (list, chosen) => {
        const all = semanticGroups(list, { ...chosen, minGroupSize: 1 });
        expect(semanticGroups(list, chosen)).toEqual(all.filter((group) => group.members.length >= chosen.minGroupSize));
      }),
    );
  });

  it("joins queries that differ in wording only", () => {
    const groups = semanticGroups(asCalls(["Jay-Z record label", "Jay-Z current record label", "jay z record label"]));
    expect(indices(groups)).toEqual([[0, 1, 2]]);
    expect(groups[0]).toMatchObject({ representativeQuery: "Jay-Z record label", answerInCandidates: true });
  });

  it("depends on who came first: members are compared with the representative alone", () => {
    const [x, y, z] = ["w1 w2 w3 w4 w5", "w1 w2 w3 w4 w6", "w1 w2 w3 w7 w6"] as const;
    expect(indices(semanticGroups(asCalls([x, y, z]), { minGroupSize: 1 }))).toEqual([[0, 1], [2]]);
    expect(indices(semanticGroups(asCalls([y, x, z]), { minGroupSize: 1 }))).toEqual([[0, 1, 2]]);
  });

  it("applies the minimum after the split by I_ans", () => {
    const mixed = [...asCalls(["height of K2", "height of K2"], true), ...asCalls(["height of K2", "height of K2"], false)];
    expect(semanticGroups(mixed)).toEqual([]);
    expect(semanticGroups(mixed, { minGroupSize: 2 }).map((group) => group.answerInCandidates)).toEqual([true, false]);
  });

  it("groups a query that normalises to nothing with itself only", () => {
    expect(indices(semanticGroups(asCalls(["The The", "a", "the the", "The The"])))).toEqual([[0, 2, 3]]);
  });
});

describe("questionGroups (Table 3)", () => {
  it("puts all calls into one group, or none when they are too few", () => {
    const list = [...asCalls(["height of K2", "length of the Danube"], true), ...asCalls(["peak"], false)];
    expect(questionGroups(list)).toEqual([{ key: "question", members: list }]);
    expect(questionGroups(list.slice(1))).toEqual([]);
    expect(questionGroups([], { minGroupSize: 0 })).toEqual([]);
  });
});
