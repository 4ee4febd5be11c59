import { once } from "node:events";
import { openRetriever } from "../retrieval/open-retriever.ts";
import { readToken } from "../serving/bearer-token.ts";
import { isLoopback } from "../serving/listen.ts";
import { createRetrievalServer } from "../serving/retrieval-server.ts";
import { allValues, defineStrictCommand, flags } from "./command.ts";
import { Interrupted, listenForInterrupt } from "./interrupt.ts";
import { loadRetrievalConfig, type Override } from "./load-config.ts";
import { showingBuild } from "./showing-build.ts";

/** Failures of the retriever are told at most this often; all are counted in /metrics. */
const toldEveryMilliseconds = 5000;

/** `cosearch serve retrieval`: a retriever for other processes, until Ctrl-C. */
export const serveRetrieval = defineStrictCommand({
  meta: { name: "retrieval", description: "Serve the first stage over HTTP: POST /retrieve, GET /health, GET /metrics" },
  args: {
    config: { ...flags.config, description: "YAML configuration, of which the sections retrieval and serving count" },
    index: { type: "string", description: "index folder (retrieval.index.folder)", valueHint: "DIR" },
    corpus: { type: "string", description: "passages (retrieval.corpus); may be given several times", valueHint: "PATH" },
    format: { type: "string", description: "of the corpus: auto, jsonl, dpr, parquet or text; default auto", valueHint: "FORMAT" },
    "skip-bad": { type: "boolean", description: "leave unusable passages of the corpus out, instead of stopping at the first" },
    kind: { type: "string", description: "dense, bm25 or hybrid (retrieval.kind)", valueHint: "KIND" },
    host: { type: "string", description: "address to listen on; default 127.0.0.1, which only this machine reaches", valueHint: "HOST" },
    port: { type: "string", description: "port; default 8000; 0: any free one", valueHint: "N" },
    set: flags.set,
    json: flags.json,
  },
  examples: [
    "cosearch serve retrieval --index indexes/wiki",
    "cosearch serve retrieval --corpus notes --kind bm25 --port 0",
    "cosearch serve retrieval --config configs/atlas.yaml --host 0.0.0.0 --set serving.tokenVariable=COSEARCH_TOKEN",
  ],
  async run({ args, rawArgs }) {
    const { retrieval, serving } = loadRetrievalConfig({
      ...(args.config === undefined ? {} : { file: args.config }),
      set: allValues("set", rawArgs),
      overrides: overridesOf(args, allValues("corpus", rawArgs), rawArgs.includes("--skip-bad")),
    });
    const { host, port, tokenVariable, ...limits } = serving;
    const token = tokenVariable === undefined ? undefined : readToken(tokenVariable);
    const interrupt = listenForInterrupt(() => say("stopping: requests under way are finished; Ctrl-C again ends at once"));
    let skipped = 0;
    const onSkip = () => {
      skipped++;
    };
    try {
      const opened = await showingBuild(
        args.json === true,
        interrupt.signal,
        (options) => openRetriever(retrieval, { ...options, onSkip }),
        "--skip-bad",
      );
      try {
        if (interrupt.signal.aborted) throw new Interrupted("interrupted");
        if (skipped > 0) say(`${skipped} unusable passages are left out (--skip-bad)`);
        const { documents, description } = opened;
        const onFailure = failureTeller();
        const server = createRetrievalServer(opened.retriever, {
          ...limits,
          token,
          documents,
          defaultTopK: retrieval.candidates,
          onFailure,
        });
        const address = await server.listen({ host, port });
        if (token === undefined && !isLoopback(host)) {
          say(`warning: anyone who reaches ${host} can search here: set serving.tokenVariable, or listen on 127.0.0.1`);
        }
        const started = `serving ${description} at ${address.url} (POST /retrieve, GET /health, GET /metrics); Ctrl-C stops`;
        process.stdout.write(`${args.json ? JSON.stringify({ ...address, documents: documents ?? null, description }) : started}\n`);
        if (!interrupt.signal.aborted) await once(interrupt.signal, "abort");
        await server.close();
      } finally {
        await opened.close();
      }
    } finally {
      interrupt.release();
    }
  },
});

type ServeFlags = Readonly<Partial<Record<"index" | "format" | "kind" | "host" | "port", string>>>;

function overridesOf({ index, format, kind, host, port }: ServeFlags, corpus: readonly string[], skipBad: boolean): Override[] {
  const number = port !== undefined && /^\d+$/.test(port) ? Number(port) : port;
  const given: [string, string, unknown][] = [
    ["--index", "retrieval.index.folder", index],
    ["--corpus", "retrieval.corpus", corpus.length > 1 ? corpus : corpus[0]],
    ["--format", "retrieval.format", format],
    ["--skip-bad", "retrieval.skipBad", skipBad ? true : undefined],
    ["--kind", "retrieval.kind", kind],
    ["--host", "serving.host", host],
    ["--port", "serving.port", number],
  ];
  return given.flatMap(([flag, key, value]) => (value === undefined ? [] : [{ flag, key, value }]));
}

/** Tells of failures, not of each one where there are many. */
function failureTeller(): (error: unknown) => void {
  let lastTold = Number.NEGATIVE_INFINITY;
  let untold = 0;
  return (error) => {
    if (performance.now() - lastTold < toldEveryMilliseconds) {
      untold++;
      return;
    }
    const more = untold > 0 ? ` (and ${untold} more since the last message)` : "";
    say(`retrieval failed: ${error instanceof Error ? error.message : String(error)}${more}`);
    lastTold = performance.now();
    untold = 0;
  };
}

function say(message: string): void {
  process.stderr.write(`cosearch: ${message}\n`);
}
