/** The report: one self-contained HTML file, no script, nothing loaded from anywhere. */
import { curvesSection } from "./curves-section.ts";
import { groupSection } from "./group-section.ts";
import { type Html, html, trusted } from "./html.ts";
import type { ReportData } from "./report-data.ts";
import { resultSection, verdict } from "./result-section.ts";
import { duration } from "./scale.ts";
import { style } from "./style.ts";
import { trajectorySection } from "./trajectory-section.ts";

/** The whole page. Everything that came from data or models is escaped; the page's own policy forbids scripts and outside resources. */
export function renderReport(data: ReportData): string {
  return `<!doctype html>\n${
    html`<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>CoSearch report: ${data.title}</title><link rel="icon" href="data:,"><style>${trusted(style)}</style></head>
<body><main>
${header(data)}
${resultSection(data)}
${curvesSection(data)}
${trajectorySection(data)}
${groupSection(data)}
${wordsSection(data)}
<section id="configuration"><h2>Configuration</h2><p>All that the run was started with, defaults included.</p><details><summary>Show the configuration</summary><pre>${data.configuration}</pre></details></section>
<footer>Made by cosearch from the files in this run folder. Intervals: percentile bootstrap over questions${data.seeds.length > 1 && " and seeds"}, 95 %.</footer>
</main></body></html>`.markup
  }\n`;
}

function header(data: ReportData): Html {
  return html`<header>
<p class="eyebrow">CoSearch · training report</p>
<h1>${data.title}</h1>
<p class="lede">A search agent answers a question by thinking, searching and reading what the search shows it. Between the search engine and the agent sits a
<strong>ranker</strong> that decides which few of ${data.candidates} found passages the agent gets to read. Usually only the agent is trained. <strong>CoSearch trains both together</strong>, by
trial and reward: the agent is paid for right answers, the ranker for putting useful passages first. This page compares it with the same agent trained on a plain
retriever, on a ranker that stays frozen, and on an oracle that always knows which passage holds the answer.</p>
${data.note !== undefined && html`<p class="note">${data.note}</p>`}
${data.alarms.length > 0 && html`<p class="note">The alarm ended training early, and the last good checkpoint stands for it. ${data.alarms.join(" · ")}</p>`}
${verdict(data)}
<dl class="facts">${facts(data).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
</header>`;
}

function facts(data: ReportData): [string, string][] {
  const [first] = data.systems;
  return [
    ["training steps", String(data.steps)],
    [data.seeds.length > 1 ? "seeds" : "seed", data.seeds.join(", ")],
    ...(first ? [["held-out questions", String(first.questions)] as [string, string]] : []),
    ["passages found, passages read", `${data.candidates} → ${data.topK}`],
    ...(data.seconds === undefined ? [] : [["wall-clock time", duration(data.seconds)] as [string, string]]),
    ...(data.peakMemoryBytes === undefined
      ? []
      : [["peak memory", `${(data.peakMemoryBytes / 2 ** 30).toFixed(2)} GiB`] as [string, string]]),
  ];
}

function wordsSection(data: ReportData): Html {
  const words: [string, string][] = [
    [
      "F1, EM",
      "How much of the accepted answer's words the given answer shares, and whether it is the very same after lowercasing and dropping articles and punctuation.",
    ],
    [
      "Hit@1",
      "Of the searches where a passage with the answer was among the candidates: how often the first passage shown to the agent holds it.",
    ],
    [`Hit@${data.topK}`, `The same for any of the ${data.topK} passages shown.`],
    ["answer seen", "Share of questions for which the agent saw a passage with the answer at least once."],
    [
      "format valid",
      "Share of questions in which every turn of the agent obeys the protocol; “ranker format” is the share of readable rankings.",
    ],
    [
      "reward",
      "Agent: F1, or −α after a format error. Ranker: how high an answer stands in its ranking, plus the agent's F1 when it stands high enough.",
    ],
    [
      "advantage",
      "How much better a sample was than the others of its group, in standard deviations: what GRPO, the training method, learns from.",
    ],
    [
      "paired difference",
      "Both systems answer the same questions, so the difference is taken question by question; resampling those gives the interval.",
    ],
  ];
  return html`<section id="words"><h2>Words</h2><dl class="words">${words.map(([word, meaning]) => html`<dt>${word}</dt><dd>${meaning}</dd>`)}</dl></section>`;
}
