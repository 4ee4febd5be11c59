import { readFileSync } from "node:fs";
import { ConfigError } from "../errors.ts";
import { resultTable } from "../evaluation/report/result-table.ts";
import { summaryOf } from "../evaluation/report/summary.ts";
import { defineStrictCommand, flags } from "./command.ts";
import { writeReport } from "./report-files.ts";

/** `cosearch report`: writes report.html and summary.json again from the files of a run folder. */
export const report = defineStrictCommand({
  meta: { name: "report", description: "Write report.html and summary.json again from a run folder" },
  args: { run: flags.run, json: flags.json },
  examples: ["cosearch report --run runs/atlas-quick"],
  async run({ args }) {
    if (args.run === undefined) throw new ConfigError("report: name the run folder with --run DIR");
    const written = await writeReport(args.run);
    if (args.json) process.stdout.write(readFileSync(written.summary, "utf8"));
    else {
      const hint = `nothing in ${args.run} has been evaluated yet; next: cosearch evaluate --run ${args.run}`;
      const unevaluated = Object.keys(summaryOf(written.data).systems).length === 0;
      process.stdout.write(`${unevaluated ? hint : resultTable(written.data)}\n\nreport: ${written.html}\n`);
    }
  },
});
