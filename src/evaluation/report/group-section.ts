/** One or two semantic groups from training: the calls that were compared with one another, their rewards and advantages. */
import { type Html, html } from "./html.ts";
import type { ReportData, TrainingGroup, TrainingGroupMember } from "./report-data.ts";
import { score, signed } from "./scale.ts";

/** The section; undefined where no group was kept. */
export function groupSection(data: ReportData): Html | undefined {
  if (data.trainingGroups.length === 0) return undefined;
  return html`<section id="groups">
<h2>What the ranker learns from</h2>
<p>The ranker's calls of one question are put side by side when their queries say nearly the same and the same kind of answer is within reach. A call that
earned more than its group's mean gets a positive advantage: what it wrote becomes more likely.</p>
${data.trainingGroups.map(groupView)}
</section>`;
}

function groupView(group: TrainingGroup): Html {
  return html`<article class="example"><div class="card scroll">
<div class="question">${group.question}</div>
<div class="gold">Accepted: ${group.goldAnswers.slice(0, 6).join(" · ")} &nbsp;·&nbsp; training step ${group.step} &nbsp;·&nbsp; group “${group.representativeQuery}” &nbsp;·&nbsp; ${
    group.answerInCandidates ? "an answer is among the candidates" : "no candidate holds an answer"
  }</div>
<table style="margin-top:14px"><thead><tr><th>Query of the call</th><th style="text-align:left">Ranking (top first)</th><th>for relevance</th><th>for the answer</th><th>reward</th><th>advantage</th></tr></thead>
<tbody>${group.members.map(memberRow)}</tbody></table></div></article>`;
}

function memberRow(member: TrainingGroupMember): Html {
  const ranking =
    member.malformed === undefined
      ? html`<ol class="seen">${member.ranking.map(
          ({ text, relevant }, index) =>
            html`<li class="${relevant ? "hit" : ""}"><span class="rank">${index + 1}</span><span>${text}</span></li>`,
        )}</ol>`
      : html`<span class="no">malformed: ${member.malformed}</span>`;
  return html`<tr><td>${member.query}<small>trajectory ${member.trajectory + 1}, search ${member.turn + 1}</small></td><td style="text-align:left;white-space:normal;min-width:260px">${ranking}</td><td>${score(member.relevanceTerm, 2)}</td><td>${score(
    member.mainTerm,
    2,
  )}</td><td>${score(member.reward, 2)}</td><td class="${member.advantage > 0 ? "yes" : member.advantage < 0 ? "no" : ""}">${signed(member.advantage, 2)}</td></tr>`;
}
