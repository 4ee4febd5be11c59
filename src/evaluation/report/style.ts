/** The report's style sheet: light and dark, print, narrow screens. Colours are told apart without hue too (lightness and dashes). */
export const style = `
:root {
  --paper: #fbfaf7; --card: #ffffff; --ink: #1f2226; --soft: #5f656d; --faint: #8d939b; --line: #e4e1d9; --wash: #f3f1ea;
  --cosearch: #c2410c; --fixed: #1d5fa8; --retrieval: #6d737b; --oracle: #12775c; --warm: #a8a29a; --warm-ranker: #8b7355;
  --good: #12775c; --good-wash: #e3f2ec; --bad: #a3352b; --bad-wash: #f9e9e6;
  --serif: "Iowan Old Style", "Palatino Linotype", Palatino, "Book Antiqua", Georgia, "DejaVu Serif", serif;
  --sans: "Inter", system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  color-scheme: light dark;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15171a; --card: #1c1f23; --ink: #e8e6e1; --soft: #a5abb3; --faint: #7b828b; --line: #2e3238; --wash: #23272c;
    --cosearch: #f2814a; --fixed: #6aa9ec; --retrieval: #a3a9b1; --oracle: #4cc09a; --warm: #7d7872; --warm-ranker: #b59b78;
    --good: #5cc8a1; --good-wash: #1d332c; --bad: #ee8c80; --bad-wash: #3a2321;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.6 var(--sans); font-variant-numeric: tabular-nums; }
main { max-width: 1080px; margin: 0 auto; padding: 64px 28px 96px; }
h1, h2, h3 { font-family: var(--serif); font-weight: 600; line-height: 1.2; letter-spacing: -0.01em; text-wrap: balance; }
h1 { font-size: clamp(32px, 5vw, 46px); margin: 6px 0 20px; }
h1::first-letter { text-transform: uppercase; }
h2 { font-size: 27px; margin: 0 0 10px; }
h3 { font-size: 19px; margin: 0 0 6px; }
p { margin: 0 0 16px; max-width: 70ch; }
a { color: inherit; }
.eyebrow { font-size: 13px; letter-spacing: 0.12em; text-transform: uppercase; color: var(--soft); margin: 0; }
.lede { font-size: 18px; color: var(--soft); }
.lede strong { color: var(--ink); font-weight: 600; }
.note { border-left: 3px solid var(--cosearch); background: var(--wash); padding: 12px 18px; border-radius: 0 6px 6px 0; max-width: 70ch; }
section { margin-top: 72px; }
section > p { color: var(--soft); }
.facts { display: flex; flex-wrap: wrap; gap: 14px 40px; margin: 32px 0 0; padding: 20px 0 0; border-top: 1px solid var(--line); }
.facts div { display: flex; flex-direction: column; }
.facts dt { font-size: 13px; color: var(--soft); order: 2; }
.facts dd { margin: 0; font-family: var(--serif); font-size: 22px; line-height: 1.25; }
.verdict { font-family: var(--serif); font-size: clamp(21px, 3vw, 27px); line-height: 1.4; margin: 40px 0 0; max-width: 34em; text-wrap: pretty; }
.verdict em { font-style: normal; color: var(--cosearch); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 20px 16px; }
.scroll { overflow-x: auto; }
.gap { margin-top: 22px; }
table { border-collapse: collapse; width: 100%; font-size: 15px; }
th { text-align: right; font-weight: 500; color: var(--soft); font-size: 13px; padding: 0 12px 10px; vertical-align: bottom; white-space: nowrap; }
td { text-align: right; padding: 12px; border-top: 1px solid var(--line); vertical-align: top; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; }
td small { display: block; color: var(--faint); font-size: 12px; line-height: 1.4; }
td .name { font-weight: 600; white-space: nowrap; }
td .name i { display: inline-block; width: 10px; height: 10px; border-radius: 50%; margin-right: 9px; }
tr.quiet td { color: var(--soft); }
tr.lead td { background: var(--wash); }
tr.lead td:first-child { border-radius: 6px 0 0 6px; }
tr.lead td:last-child { border-radius: 0 6px 6px 0; }
.yes { color: var(--good); } .no { color: var(--bad); }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); gap: 22px; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg text { font: 12px var(--sans); fill: var(--soft); font-variant-numeric: tabular-nums; }
svg text.row { font-size: 15px; fill: var(--ink); }
svg text.value { font-size: 15px; font-weight: 600; fill: var(--ink); }
svg line.grid { stroke: var(--line); stroke-width: 1; display: inline; }
svg line.base { stroke: var(--faint); stroke-width: 1; }
svg .line { fill: none; stroke-width: 2.4; stroke-linejoin: round; stroke-linecap: round; }
svg .raw { fill: none; stroke-width: 1; opacity: 0.3; }
svg .whisker { stroke-width: 4; stroke-linecap: round; opacity: 0.38; }
svg .seed { fill: var(--card); stroke-width: 1.5; }
svg .hover rect { fill: transparent; } svg .hover line { stroke: var(--faint); stroke-dasharray: 2 3; opacity: 0; } svg .hover:hover line { opacity: 1; }
.stroke-cosearch { stroke: var(--cosearch); } .fill-cosearch { fill: var(--cosearch); background: var(--cosearch); }
.stroke-fixed { stroke: var(--fixed); stroke-dasharray: 9 4; } .fill-fixed { fill: var(--fixed); background: var(--fixed); }
.stroke-retrieval { stroke: var(--retrieval); stroke-dasharray: 2 4; } .fill-retrieval { fill: var(--retrieval); background: var(--retrieval); }
.stroke-oracle { stroke: var(--oracle); stroke-dasharray: 12 4 2 4; } .fill-oracle { fill: var(--oracle); background: var(--oracle); }
.stroke-warm { stroke: var(--warm); } .fill-warm { fill: var(--warm); background: var(--warm); }
.stroke-warm-ranker { stroke: var(--warm-ranker); } .fill-warm-ranker { fill: var(--warm-ranker); background: var(--warm-ranker); }
.raw, .whisker, .seed { stroke-dasharray: none; }
figure { margin: 0; }
.chart { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 20px 22px 14px; break-inside: avoid; }
.chart figcaption { display: flex; flex-direction: column; margin-bottom: 12px; }
.chart figcaption strong { font-family: var(--serif); font-size: 18px; font-weight: 600; }
.chart figcaption span { color: var(--soft); font-size: 14px; line-height: 1.5; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 0 0 10px; padding: 0; font-size: 13px; color: var(--soft); }
.legend li { display: flex; align-items: center; gap: 7px; } .legend svg { width: 26px; height: 8px; }
.example { margin-top: 44px; break-inside: avoid-page; }
.example > header p { color: var(--soft); margin: 0 0 14px; }
.question { font-family: var(--serif); font-size: 20px; margin: 2px 0 4px; }
.gold { font-size: 14px; color: var(--soft); }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 22px; align-items: start; }
.side { background: var(--card); border: 1px solid var(--line); border-top: 3px solid var(--faint); border-radius: 8px; padding: 18px 20px; }
.top-cosearch { border-top-color: var(--cosearch); } .top-fixed { border-top-color: var(--fixed); } .top-retrieval { border-top-color: var(--retrieval); }
.top-oracle { border-top-color: var(--oracle); } .top-warm { border-top-color: var(--warm); } .top-warm-ranker { border-top-color: var(--warm-ranker); }
.side > h4 { margin: 0 0 12px; font-size: 15px; display: flex; justify-content: space-between; gap: 12px; }
.chip { font-size: 12.5px; font-weight: 500; padding: 1px 9px; border-radius: 99px; background: var(--wash); color: var(--soft); white-space: nowrap; }
.chip.yes { background: var(--good-wash); color: var(--good); } .chip.no { background: var(--bad-wash); color: var(--bad); }
ol.turns { list-style: none; margin: 0; padding: 0; }
ol.turns > li { padding: 0 0 16px 18px; border-left: 1px solid var(--line); position: relative; margin-left: 4px; }
ol.turns > li:last-child { padding-bottom: 0; border-left-color: transparent; }
ol.turns > li::before { content: ""; position: absolute; left: -4.5px; top: 8px; width: 8px; height: 8px; border-radius: 50%; background: var(--faint); }
.label { font-size: 12px; color: var(--faint); letter-spacing: 0.04em; text-transform: uppercase; margin-right: 8px; }
.thought { color: var(--soft); font-size: 14.5px; margin: 0 0 4px; }
.query, .answer { margin: 0 0 8px; font-size: 15.5px; }
.query b { font-weight: 600; } .answer b { font-size: 17px; font-family: var(--serif); }
.seen { list-style: none; margin: 0; padding: 0; font-size: 13.5px; line-height: 1.45; }
.seen li { display: grid; grid-template-columns: 22px 1fr auto; gap: 8px; padding: 5px 8px; border-radius: 5px; align-items: baseline; }
.seen li.hit { background: var(--good-wash); }
.seen .rank { color: var(--faint); text-align: right; } .seen .from { color: var(--faint); font-size: 12px; white-space: nowrap; }
.seen li.hidden { color: var(--soft); }
details { margin-top: 6px; font-size: 13.5px; }
summary { cursor: pointer; color: var(--soft); padding: 3px 0; border-radius: 4px; }
summary:hover { color: var(--ink); }
summary:focus-visible { outline: 2px solid var(--fixed); outline-offset: 2px; }
.rewards { margin: 8px 0 0; font-size: 13px; color: var(--soft); }
pre { font: 13px/1.55 var(--mono); overflow-x: auto; background: var(--wash); padding: 18px 20px; border-radius: 8px; margin: 10px 0 0; white-space: pre; }
pre.output { white-space: pre-wrap; overflow-wrap: anywhere; padding: 10px 12px; font-size: 12px; }
dl.words { display: grid; grid-template-columns: minmax(130px, auto) 1fr; gap: 10px 26px; margin: 0; max-width: 78ch; }
dl.words dt { font-weight: 600; } dl.words dd { margin: 0; color: var(--soft); }
footer { margin-top: 80px; padding-top: 18px; border-top: 1px solid var(--line); color: var(--faint); font-size: 13px; }
@media (max-width: 640px) {
  main { padding: 36px 16px 64px; } section { margin-top: 52px; } .card { padding: 18px 16px; } .chart { padding: 16px 14px 10px; }
  dl.words { grid-template-columns: 1fr; gap: 2px; } dl.words dd { margin-bottom: 10px; } svg text { font-size: 15px; } svg.intervals { min-width: 540px; }
}
@media print {
  :root { --paper: #fff; --card: #fff; } body { font-size: 11pt; } main { max-width: none; padding: 0; }
  section { margin-top: 32pt; } .hover { display: none; } .card, .chart, .side { break-inside: avoid; } pre { white-space: pre-wrap; }
}
`;
