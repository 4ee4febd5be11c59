/** The learning curves: what the policies were paid, what the ranker puts forward, how the agent searches, and the health of both. */
import { type Html, html } from "./html.ts";
import { lineChart, type Series } from "./line-chart.ts";
import { type LearningCurve, type ReportData, type SystemKey, systemKeys, systemLabels } from "./report-data.ts";
import { meanCurve, type Point, score, smooth } from "./scale.ts";

interface CurveChart {
  readonly title: string;
  readonly caption: string;
  /** Field of metrics.jsonl. */
  readonly metric: string;
  readonly format?: (value: number) => string;
  readonly within?: readonly [number, number];
  /** Measured every step (smoothed) or now and then (drawn as it is). */
  readonly rare?: boolean;
  /** Only these systems; default all that measured it. */
  readonly only?: readonly SystemKey[];
}

const share: readonly [number, number] = [0, 1];

function charts(topK: number): CurveChart[] {
  const decimal = (value: number) => value.toFixed(value !== 0 && Math.abs(value) < 1 ? 2 : 1);
  return [
    { title: "Reward of the agent", caption: "Mean answer F1 in training, format errors at −α (Eq. 4).", metric: "mainReward" },
    {
      title: "F1 on dev questions",
      caption: "Greedy answers to questions that are never trained on; the best checkpoint is kept.",
      metric: "devF1",
      within: share,
      rare: true,
    },
    {
      title: "Reward of the ranker",
      caption: "Relevance plus, where it ranked well, the answer's F1 (Eq. 6).",
      metric: "rankerReward",
      only: ["cosearch"],
    },
    {
      title: "An answer on top",
      caption: "Hit@1: of searches with an answer among the candidates, how many show one first.",
      metric: "hit1",
      within: share,
    },
    {
      title: "An answer in sight",
      caption: `Hit@${topK}: the same for the ${topK} passages that the agent reads.`,
      metric: "hitK",
      within: share,
    },
    {
      title: "Searches a question",
      caption: "A good ranker makes a second try unnecessary.",
      metric: "searches",
      format: (value) => value.toFixed(1),
    },
    {
      title: "Format of the agent",
      caption: "Share of trajectories in which every turn is well formed.",
      metric: "mainFormatValidity",
      within: share,
    },
    { title: "Format of the ranker", caption: "Share of rankings that can be read.", metric: "rankerFormatValidity", within: share },
    { title: "Entropy of the agent", caption: "Nats a token: how much the agent still varies.", metric: "mainEntropy", format: decimal },
    {
      title: "Entropy of the ranker",
      caption: "Without variety among rankings there is nothing to compare.",
      metric: "rankerEntropy",
      format: decimal,
      only: ["cosearch"],
    },
  ];
}

/** The section; undefined where no step has been measured. */
export function curvesSection(data: ReportData): Html | undefined {
  if (data.curves.every(({ steps }) => steps.length === 0)) return undefined;
  const several = data.seeds.length > 1 ? "; faint lines are single seeds" : "";
  return html`<section id="learning">
<h2>How they learn</h2>
<p>One point a training step, smoothed; the faint line is what was measured${several}. Point at a chart for its values.</p>
<div class="grid">${[...charts(data.topK).map((chart) => curveChart(chart, data)), ...groupCharts(data)]}</div>
</section>`;
}

function curveChart(chart: CurveChart, data: ReportData): Html | undefined {
  const series = systemKeys
    .filter((key) => chart.only?.includes(key) ?? true)
    .map((key) => systemSeries(key, data.curves, chart.metric, chart.rare ?? false, systemLabels[key].name, systemLabels[key].style));
  return lineChart({ ...chart, xLabel: "step", format: chart.format ?? ((value) => score(value, 2)), series });
}

/** The joint run's groups before and after filtering: how many calls remain, and how large the groups are. */
function groupCharts(data: ReportData): (Html | undefined)[] {
  const line = (metric: string, name: string, style: string) => systemSeries("cosearch", data.curves, metric, false, name, style);
  return [
    lineChart({
      title: "Ranker calls a step",
      caption: "All calls of CoSearch's ranker, and those left to learn from after grouping and filtering.",
      xLabel: "step",
      format: (value) => value.toFixed(0),
      series: [line("rankerCalls", "all calls", "retrieval"), line("rankerCallsKept", "calls in kept groups", "cosearch")],
    }),
    lineChart({
      title: "Size of the groups",
      caption: "Calls that are compared with one another, before and after groups that are too small are dropped.",
      xLabel: "step",
      format: (value) => value.toFixed(1),
      series: [line("groupSizeFormed", "all groups", "retrieval"), line("groupSizeKept", "kept groups", "cosearch")],
    }),
  ];
}

function systemSeries(
  key: SystemKey,
  curves: readonly LearningCurve[],
  metric: string,
  rare: boolean,
  name: string,
  style: string,
): Series {
  const raw = curves.filter((curve) => curve.key === key).map(({ steps }) => points(steps, metric));
  const mean = meanCurve(raw);
  const reach = rare ? 0 : Math.max(1, Math.round(mean.length / 24));
  return { name, style, line: smooth(mean, reach), ...(rare && raw.length < 2 ? {} : { raw }) };
}

function points(steps: LearningCurve["steps"], metric: string): Point[] {
  return steps.flatMap((step) => {
    const y = step[metric];
    return y === undefined || !Number.isFinite(y) ? [] : [{ x: step.step as number, y }];
  });
}
