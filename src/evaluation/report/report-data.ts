/** All that a report says, as plain data. Read from run folders by cli, drawn by report.ts and by the terminal table. */
import type { MetricName, Scores } from "../metrics.ts";
import type { QuestionRecord } from "../record.ts";
import type { Interval } from "../significance.ts";

/** The systems in the order of the table; the warm start is what training begins from, without and with its ranker. */
export const systemKeys = ["warmStart", "warmStartRanker", "retrievalOnly", "fixedRanker", "cosearch", "oracle"] as const;
/** Key of a system in summaries. */
export type SystemKey = (typeof systemKeys)[number];

/** What a reader sees of a system: its name, one line about it, and the style class of its colour. */
export const systemLabels: Record<SystemKey, { readonly name: string; readonly about: string; readonly style: string }> = {
  warmStart: { name: "Warm start", about: "the agent before training, with the plain retriever", style: "warm" },
  warmStartRanker: { name: "Warm start + ranker", about: "agent and ranker before training", style: "warm-ranker" },
  retrievalOnly: { name: "Retrieval Only", about: "the agent trains; it sees the retriever's own order", style: "retrieval" },
  fixedRanker: { name: "Fixed Ranker", about: "the agent trains; a ranker trained beforehand stays frozen", style: "fixed" },
  cosearch: { name: "CoSearch", about: "agent and ranker train together", style: "cosearch" },
  oracle: { name: "Oracle", about: "the agent trains; passages that hold the answer always come first", style: "oracle" },
};

/** One system's figures. */
export interface SystemReport {
  readonly key: SystemKey;
  readonly scores: Scores;
  /** The same figures seed by seed. */
  readonly seeds: readonly { readonly seed: number; readonly values: Partial<Record<MetricName, number>> }[];
  /** F1 by the number of facts that a question chains, where that is known. */
  readonly f1ByHops: readonly { readonly hops: number; readonly questions: number; readonly f1: Interval }[];
  /** Questions evaluated, a seed. */
  readonly questions: number;
}

/** A paired difference, first - second. */
export interface Difference {
  readonly metric: MetricName;
  readonly first: SystemKey;
  readonly second: SystemKey;
  readonly interval: Interval;
  /** The difference of every seed. */
  readonly seeds: readonly number[];
}

/** One training run's metrics.jsonl: every step's numbers by name. */
export interface LearningCurve {
  readonly key: SystemKey;
  readonly seed: number;
  readonly steps: readonly Readonly<Record<string, number>>[];
}

/** One question as one or two systems went about it. */
export interface Example {
  readonly heading: string;
  /** What this example shows. */
  readonly lesson: string;
  readonly sides: readonly { readonly key: SystemKey; readonly record: QuestionRecord }[];
}

/** One semantic group of ranker calls as training saw it. */
export interface TrainingGroup {
  readonly step: number;
  readonly question: string;
  readonly goldAnswers: readonly string[];
  readonly representativeQuery: string;
  readonly answerInCandidates: boolean;
  readonly members: readonly TrainingGroupMember[];
}

/** One call of a group, with what it was paid. */
export interface TrainingGroupMember {
  readonly trajectory: number;
  readonly turn: number;
  readonly query: string;
  /** Passages that the ranker put forward, in order, and whether each holds the answer. */
  readonly ranking: readonly { readonly text: string; readonly relevant: boolean }[];
  readonly malformed?: string;
  readonly relevanceTerm: number;
  readonly mainTerm: number;
  readonly reward: number;
  readonly advantage: number;
}

/** The content of a report. */
export interface ReportData {
  readonly title: string;
  readonly note?: string;
  /** Systems whose training the alarm ended early, with the reason. */
  readonly alarms: readonly string[];
  readonly seeds: readonly number[];
  readonly steps: number;
  /** N and K. */
  readonly candidates: number;
  readonly topK: number;
  readonly seconds?: number;
  readonly peakMemoryBytes?: number;
  readonly systems: readonly SystemReport[];
  readonly differences: readonly Difference[];
  readonly curves: readonly LearningCurve[];
  readonly examples: readonly Example[];
  readonly trainingGroups: readonly TrainingGroup[];
  /** The configuration as YAML. */
  readonly configuration: string;
}
