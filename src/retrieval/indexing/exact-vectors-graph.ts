import type { Metric } from "../../config.ts";
import { GraphBuilder } from "../../onnx/onnx-model.ts";
import { createSession, floatTensor } from "../../onnx/session.ts";
import { groupRows, type VectorBlock } from "./stored-vectors.ts";

/** The products of blocks of rows with queries, by onnxruntime. */
export interface BlockProducts {
  /**
   * Approximate scores of every row (`scores[row * queries + query]`) and the highest of every group of rows (`highest[group * queries + query]`):
   * the inner product; times the row's `terms` for cosine; minus the row's `terms` for l2.
   * @param queries `dimensions` × `count`, transposed.
   */
  scores(
    block: VectorBlock,
    terms: Float32Array | undefined,
    queries: Float32Array,
    count: number,
  ): Promise<{ scores: Float32Array; highest: Float32Array }>;
  /** The sum of squares of every row; an infinity or a NaN where a value is none or too large. */
  squares(block: VectorBlock): Promise<Float32Array>;
  close(): Promise<void>;
}

export async function createBlockProducts(metric: Metric, dimensions: number, threads: number): Promise<BlockProducts> {
  const search = await createSession(searchGraph(metric, dimensions), threads, { spinning: false });
  const squaring = await createSession(squaresGraph(dimensions), threads, { spinning: false });
  const grouped = ({ values }: VectorBlock) => floatTensor(values, [values.length / dimensions / groupRows, groupRows, dimensions]);
  return {
    async scores(block, terms, queries, count) {
      const feeds = { rows: grouped(block), queries: floatTensor(queries, [dimensions, count]) };
      const rowTerms: Record<string, ReturnType<typeof floatTensor>> = terms === undefined
        ? {}
        : { terms: floatTensor(terms, [terms.length / groupRows, groupRows, 1]) };
      const { scores, highest } = await search.run({ ...feeds, ...rowTerms });
      return { scores: scores?.data as Float32Array, highest: highest?.data as Float32Array };
    },
    async squares(block) {
      const { squares } = await squaring.run({ rows: grouped(block) });
      return squares?.data as Float32Array;
    },
    async close() {
      await search.release();
      await squaring.release();
    },
  };
}

function searchGraph(metric: Metric, dimensions: number): Uint8Array {
  const graph = new GraphBuilder();
  const rows = graph.input("rows", "float", ["groups", groupRows, dimensions]);
  const queries = graph.input("queries", "float", [dimensions, "queries"]);
  if (metric === "inner-product") {
    graph.node("MatMul", [rows, queries], ["scores"]);
  } else {
    const terms = graph.input("terms", "float", ["groups", groupRows, 1]);
    graph.node(metric === "cosine" ? "Mul" : "Sub", [graph.apply("MatMul", [rows, queries]), terms], ["scores"]);
  }
  graph.node("ReduceMax", ["scores", graph.integers(1)], ["highest"], { keepdims: 0 });
  graph.output("scores", "float", ["groups", groupRows, "queries"]);
  graph.output("highest", "float", ["groups", "queries"]);
  return graph.build();
}

function squaresGraph(dimensions: number): Uint8Array {
  const graph = new GraphBuilder();
  const rows = graph.input("rows", "float", ["groups", groupRows, dimensions]);
  graph.node("ReduceSumSquare", [rows, graph.integers(2)], ["squares"], { keepdims: 0 });
  graph.output("squares", "float", ["groups", groupRows]);
  return graph.build();
}
