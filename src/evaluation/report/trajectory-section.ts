/** Whole trajectories: what the agent thought, asked, was shown and answered, and what the ranker did in between. */
import type { CandidateRecord, QuestionRecord, SearchRecord, TurnRecord } from "../record.ts";
import { type Html, html } from "./html.ts";
import { type Example, type ReportData, type SystemKey, systemLabels } from "./report-data.ts";
import { score } from "./scale.ts";

/** The section; undefined where there is no example. */
export function trajectorySection(data: ReportData): Html | undefined {
  if (data.examples.length === 0) return undefined;
  return html`<section id="trajectories">
<h2>Whole trajectories</h2>
<p>Held-out questions, decoded greedily, chosen by rule: the first ones on which the systems part ways. Passages that hold the answer are tinted. “from 7” means that
the retriever had put the passage at rank 7.</p>
${data.examples.map(exampleView)}
</section>`;
}

function exampleView({ heading, lesson, sides }: Example): Html {
  const record = sides[0]?.record;
  if (!record) return html``;
  return html`<article class="example"><header><h3>${heading}</h3><p>${lesson}</p>
<div class="question">${record.question}</div><div class="gold">Accepted: ${record.goldAnswers.slice(0, 6).join(" · ")}</div></header>
<div class="sides" style="margin-top:14px">${sides.map(({ key, record: side }) => sideView(key, side))}</div></article>`;
}

function sideView(key: SystemKey, record: QuestionRecord): Html {
  const { name, style } = systemLabels[key];
  return html`<div class="side top-${style}"><h4><span>${name}</span>${scoreChip(record)}</h4>
<ol class="turns">${record.turns.map((turn) => turnView(turn, record))}</ol></div>`;
}

function scoreChip(record: QuestionRecord): Html {
  if (!record.formatValid) return html`<span class="chip no">format error</span>`;
  return html`<span class="chip ${record.f1 >= 0.5 ? "yes" : "no"}">F1 ${score(record.f1, 2)}</span>`;
}

function turnView(turn: TurnRecord, record: QuestionRecord): Html {
  const thought = turn.thought && html`<p class="thought"><span class="label">thinks</span>${turn.thought}</p>`;
  const { action } = turn;
  if (action.kind === "search") {
    return html`<li>${thought}<p class="query"><span class="label">searches</span><b>${action.query}</b></p>${turn.search ? searchView(turn.search) : html`<p class="thought">One search more than allowed: the trajectory ends here.</p>`}</li>`;
  }
  if (action.kind === "answer") {
    return html`<li>${thought}<p class="answer"><span class="label">answers</span><b class="${record.f1 >= 0.5 ? "yes" : "no"}">${action.answer}</b></p></li>`;
  }
  return html`<li>${thought}<p class="answer no"><span class="label">malformed</span>${action.reason}</p><pre class="output">${turn.output}</pre></li>`;
}

function searchView(search: SearchRecord): Html {
  const byRank = new Map(search.candidates.map((candidate) => [candidate.rank, candidate]));
  const shown = search.shownRanks.flatMap((rank) => byRank.get(rank) ?? []);
  const rest = search.candidates.filter(({ rank }) => !search.shownRanks.includes(rank));
  const hidden = rest.filter(({ relevant }) => relevant).length;
  return html`${search.ranker && rankerLine(search.ranker)}
<ol class="seen">${shown.map((candidate, index) => passageView(candidate, index + 1))}</ol>
${
  rest.length > 0 &&
  html`<details><summary>${rest.length} more candidates, not shown to the agent${hidden > 0 && html` <span class="chip">${hidden} with the answer</span>`}</summary>
<ol class="seen">${rest.map((candidate) => passageView(candidate, undefined))}</ol></details>`
}
${search.ranker && rewardLine(search)}`;
}

function rankerLine(ranker: NonNullable<SearchRecord["ranker"]>): Html {
  if (ranker.malformed !== undefined) {
    return html`<p class="thought no"><span class="label">ranker</span>malformed (${ranker.malformed}): the retriever's order stands</p>`;
  }
  return html`<p class="thought"><span class="label">ranker</span>${ranker.reason ?? ""}</p>`;
}

function passageView(candidate: CandidateRecord, position: number | undefined): Html {
  const title = candidate.title && !candidate.text.toLowerCase().includes(candidate.title.toLowerCase()) ? `${candidate.title}: ` : "";
  const from = position === undefined ? "" : position === candidate.rank ? "" : `from ${candidate.rank}`;
  return html`<li class="${candidate.relevant ? "hit" : position === undefined ? "hidden" : ""}"><span class="rank">${position ?? candidate.rank}</span><span>${title}${cut(candidate.text)}</span><span class="from">${from}</span></li>`;
}

/** Eq. 6 for this call, in words. */
function rewardLine(search: SearchRecord): Html | undefined {
  const reward = search.ranker?.reward;
  if (!reward) return undefined;
  const parts = {
    malformed: `−α for the format = ${score(reward.total, 2)}`,
    relevance: `relevance ${score(reward.relevanceTerm, 2)} alone = ${score(reward.total, 2)}`,
    "relevance+main": `relevance ${score(reward.relevanceTerm, 2)} + answer F1 ${score(reward.mainTerm, 2)} = ${score(reward.total, 2)}`,
    main: `answer F1 ${score(reward.total, 2)}, as no candidate holds the answer`,
  };
  return html`<p class="rewards"><span class="label">ranker reward</span>${parts[reward.rule]}</p>`;
}

function cut(text: string): string {
  return text.length > 240 ? `${text.slice(0, 239).trimEnd()}…` : text;
}
