/** Picks the few trajectories that teach most, by fixed rules over the records: no luck, no taste. */
import type { QuestionRecord, SearchRecord } from "../record.ts";
import type { Example, SystemKey } from "./report-data.ts";

/** Records by system, the same questions in the same order. */
export type RecordsBySystem = Partial<Record<SystemKey, readonly QuestionRecord[]>>;

interface Rule {
  readonly heading: string;
  readonly lesson: string;
  readonly systems: readonly SystemKey[];
  /** How many questions the rule may contribute. */
  readonly most: number;
  readonly fits: (records: readonly QuestionRecord[]) => boolean;
}

const right = (record: QuestionRecord | undefined) => record !== undefined && record.f1 >= 0.99;
const wrong = (record: QuestionRecord | undefined) => record !== undefined && record.f1 < 0.2;
const searchesOf = (record: QuestionRecord | undefined): SearchRecord[] =>
  record?.turns.flatMap(({ search }) => (search ? [search] : [])) ?? [];
/** Some search where the answer was there but the agent didn't see it. */
const missed = (record: QuestionRecord | undefined) =>
  searchesOf(record).some(({ answerInCandidates, hitAtK }) => answerInCandidates && !hitAtK);
/** The ranker put an answer first that the retriever had not. */
const lifted = (record: QuestionRecord | undefined) =>
  searchesOf(record).some(({ hitAt1, shownRanks }) => hitAt1 && (shownRanks[0] ?? 1) > 2);

const rules: readonly Rule[] = [
  {
    heading: "CoSearch finds what Fixed Ranker leaves behind",
    lesson:
      "The passage with the answer was among the candidates of both. Only the ranker that trained with its agent put it in front of the agent.",
    systems: ["cosearch", "fixedRanker"],
    most: 1,
    fits: ([cosearch, fixed]) => right(cosearch) && wrong(fixed) && lifted(cosearch) && missed(fixed),
  },
  {
    heading: "Two facts in a row",
    lesson: "A question that takes two searches: the first finds the link, the second the answer.",
    systems: ["cosearch", "fixedRanker"],
    most: 1,
    fits: ([cosearch, fixed]) => right(cosearch) && wrong(fixed) && searchesOf(cosearch).length >= 2,
  },
  {
    heading: "Without a ranker the answer stays out of sight",
    lesson: "Retrieval Only sees the retriever's own order; the same candidates, put in order, would have been enough.",
    systems: ["cosearch", "retrievalOnly"],
    most: 1,
    fits: ([cosearch, retrieval]) => right(cosearch) && wrong(retrieval) && lifted(cosearch) && missed(retrieval),
  },
  {
    heading: "Where CoSearch is wrong and Fixed Ranker is right",
    lesson: "Training together doesn't win every question.",
    systems: ["cosearch", "fixedRanker"],
    most: 1,
    fits: ([cosearch, fixed]) => wrong(cosearch) && right(fixed),
  },
  {
    heading: "Only the Oracle gets there",
    lesson: "What is still to be gained: with the right passage in front, the agent answers.",
    systems: ["cosearch", "oracle"],
    most: 1,
    fits: ([cosearch, oracle]) => wrong(cosearch) && right(oracle) && missed(cosearch),
  },
];

/** The first questions that fit each rule, no question twice; when nothing fits any rule, the first question of every system there is. */
export function chooseExamples(records: RecordsBySystem): Example[] {
  const used = new Set<string>();
  const examples = rules.flatMap((rule) => {
    const lists = rule.systems.map((key) => records[key]);
    if (!lists.every((list) => list !== undefined)) return [];
    const found: Example[] = [];
    for (let index = 0; index < (lists[0]?.length ?? 0) && found.length < rule.most; index++) {
      const sides = lists.map((list) => list?.[index]).filter((record) => record !== undefined);
      const id = sides[0]?.questionId ?? "";
      if (sides.length < rule.systems.length || used.has(id) || sides.some(({ questionId }) => questionId !== id) || !rule.fits(sides))
        continue;
      used.add(id);
      found.push({
        heading: rule.heading,
        lesson: rule.lesson,
        sides: sides.map((record, side) => ({ key: rule.systems[side] as SystemKey, record })),
      });
    }
    return found;
  });
  return examples.length > 0 ? examples : firstQuestions(records);
}

function firstQuestions(records: RecordsBySystem): Example[] {
  return Object.entries(records).flatMap(([key, list]) => {
    const record = list?.find(right) ?? list?.[0];
    return record
      ? [{ heading: "A first look", lesson: "One held-out question from beginning to end.", sides: [{ key: key as SystemKey, record }] }]
      : [];
  });
}
