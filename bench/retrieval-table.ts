/** The retrieval benchmark's figures, as a table. */

/** How quickly queries were answered. */
export interface LoadFigures {
  readonly queriesPerSecond: number;
  readonly medianMs: number;
  readonly p99Ms: number;
}

/** What was measured of one index. */
export interface RetrievalMeasurement {
  readonly index: string;
  /** From raw vectors to a searchable index on the disk. */
  readonly buildSeconds: number;
  /** Part of exact search's results that were found. */
  readonly recall: number;
  readonly oneClient: LoadFigures;
  readonly manyClients: LoadFigures;
  /** Peak resident memory of the process that searched. */
  readonly peakMemoryBytes: number;
  /** The same before it opened the index. */
  readonly loadedMemoryBytes: number;
  readonly diskBytes: number;
}

const columns = [
  "index",
  "build s",
  "recall",
  "q/s, 1 client",
  "p99 ms",
  "q/s, 32 clients",
  "p99 ms",
  "memory MB",
  "of Flat",
  "of it index",
  "disk MB",
];

/**
 * A Markdown table. Memory is set against FAISS's Flat where it was measured, else against exact search, both times of the whole process.
 */
export function retrievalTable(rows: number, dimensions: number, topK: number, measured: readonly RetrievalMeasurement[]): string {
  const flat = measured.find(({ index }) => index === "faiss-flat") ?? measured.find(({ index }) => index === "exact");
  const megabytes = (bytes: number) => String(Math.round(bytes / 1e6));
  const short = (value: number) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));
  const lines = measured.map((one) => [
    one.index,
    short(one.buildSeconds),
    one.recall.toFixed(4),
    short(one.oneClient.queriesPerSecond),
    short(one.oneClient.p99Ms),
    short(one.manyClients.queriesPerSecond),
    short(one.manyClients.p99Ms),
    megabytes(one.peakMemoryBytes),
    flat === undefined ? "" : (one.peakMemoryBytes / flat.peakMemoryBytes).toFixed(2),
    megabytes(one.peakMemoryBytes - one.loadedMemoryBytes),
    megabytes(one.diskBytes),
  ]);
  const title = `${rows.toLocaleString("en")} vectors of ${dimensions} dimensions, recall@${topK}`;
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [title, "", row(columns), row(columns.map((_, index) => (index === 0 ? "---" : "--:"))), ...lines.map(row), ""].join("\n");
}
