/** What the server counts, in Prometheus' format. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** The process' own figures (memory, CPU, event loop): one registry, because their observers can't be stopped. */
let processRegistry: Registry | undefined;

/** Counters of one server. */
export interface ServerMetrics {
  /** A request was answered; `route` is one of a few fixed names. */
  readonly answered: (route: string, code: number, seconds: number) => void;
  readonly batch: (batch: { readonly requests: number; readonly queries: number }) => void;
  readonly retrievalFailed: () => void;
  /** All figures as text, and its content type. */
  readonly render: () => Promise<{ readonly text: string; readonly contentType: string }>;
}

/** `waiting` is asked whenever figures are read. */
export function serverMetrics(retriever: string, waiting: () => number): ServerMetrics {
  processFigures();
  const registry = new Registry();
  const registers = [registry];
  const requests = new Counter({
    name: "cosearch_http_requests_total",
    help: "Requests by route and status code; 499: the client went away",
    labelNames: ["route", "code"] as const,
    registers,
  });
  const duration = new Histogram({
    name: "cosearch_http_request_seconds",
    help: "Seconds from a request's headers to its answer",
    labelNames: ["route"] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  const sizes = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
  const batchQueries = new Histogram({ name: "cosearch_batch_queries", help: "Distinct queries of one search", buckets: sizes, registers });
  const batchRequests = new Histogram({
    name: "cosearch_batch_requests",
    help: "Requests that shared one search",
    buckets: sizes,
    registers,
  });
  const failures = new Counter({ name: "cosearch_retrieval_failures_total", help: "Requests for which the retriever failed", registers });
  new Gauge({
    name: "cosearch_requests_waiting",
    help: "Retrieval requests under way or waiting",
    registers,
    collect() {
      this.set(waiting());
    },
  });
  new Gauge({
    name: "cosearch_retriever_info",
    help: "Always 1; the label names the retriever",
    labelNames: ["retriever"] as const,
    registers,
  })
    .labels(retriever)
    .set(1);
  return {
    answered(route, code, seconds) {
      requests.inc({ route, code });
      duration.observe({ route }, seconds);
    },
    batch(batch) {
      batchQueries.observe(batch.queries);
      batchRequests.observe(batch.requests);
    },
    retrievalFailed: () => failures.inc(),
    async render() {
      const merged = Registry.merge([registry, processFigures()]);
      return { text: await merged.metrics(), contentType: merged.contentType };
    },
  };
}

function processFigures(): Registry {
  if (processRegistry === undefined) {
    processRegistry = new Registry();
    collectDefaultMetrics({ register: processRegistry });
  }
  return processRegistry;
}
