/**
 * The graph that extends sequences: past keys and values (S slots a row) and T new tokens in, the next token's probabilities
 * and the new tokens' keys and values out. It serves prefill, appended observations and, specialised to T = 1, decoding.
 *
 * The cache is an input, never an output: inputs are not copied, outputs are. The new tokens' scores are computed beside
 * those of the past and share one softmax.
 */

import { GraphBuilder, microsoft, type Value } from "../../onnx/onnx-model.ts";
import type { LoraShape } from "../engine.ts";
import type { ModelShape } from "./architecture.ts";
import { graphParameters } from "./graph-parameters.ts";
import { type Int8Matrix, int8Product } from "./int8-weights.ts";
import { adapterInputs, adapterRanks } from "./sampling-adapter.ts";

/** `extend`: any number of new tokens a row; `step`: one. */
export type DecodeGraphKind = "extend" | "step";

/** Input: a layer's past keys. */
export const pastKeysName = (layer: number) => `pastKeys.${layer}`;
/** Input: a layer's past values. */
export const pastValuesName = (layer: number) => `pastValues.${layer}`;
/** Output: the new tokens' keys of a layer. */
export const newKeysName = (layer: number) => `newKeys.${layer}`;
/** Output: the new tokens' values of a layer. */
export const newValuesName = (layer: number) => `newValues.${layer}`;

/**
 * Inputs: the model's `graphParameters` and those of an adapter; `tokens` [B*T]; `positions` [B, T]; `pastMask` [B, 1, 1, S] (0, or `maskedScore` for
 * an empty slot); `inverseTemperature` [B, 1]; the tables `queryCosine`, `querySine` (scaled by 1/sqrt(headSize)), `cosine`, `sine`;
 * `pastKeys.N`, `pastValues.N` [B, keyValueHeads, S, headSize]. The extend graph also takes `newMask` [1, 1, group*T, T] (causal, tiled
 * over the query heads that share a key head) and `last` [B], the index of each row's last valid new token in [B*T].
 * Outputs: `probabilities` [B, vocabulary]; `newKeys.N`, `newValues.N` [B, T, keyValueHeads*headSize].
 * @param int8 Matrices that are constants of the graph, instead of inputs.
 */
export function decodeGraph(
  shape: ModelShape,
  kind: DecodeGraphKind,
  lora?: LoraShape,
  int8: ReadonlyMap<string, Int8Matrix> = new Map(),
): Uint8Array {
  const graph = new GraphBuilder();
  const ranks = adapterRanks(shape, lora);
  for (const { name, shape: size } of graphParameters(shape)) {
    // Tokens are looked up in the embedding, whatever the head multiplies with.
    if (name === "embedding" || !int8.has(name)) graph.input(name, "float", size);
    const rank = ranks.get(name);
    if (rank === undefined) continue;
    graph.input(adapterInputs(name).a, "float", [rank, size[1] as number]);
    graph.input(adapterInputs(name).b, "float", [size[0] as number, rank]);
  }
  const length = kind === "step" ? 1 : "T";
  const tokens = graph.input("tokens", "int64", ["N"]);
  graph.input("positions", "int64", ["B", length]);
  graph.input("pastMask", "float", ["B", 1, 1, "S"]);
  const inverseTemperature = graph.input("inverseTemperature", "float", ["B", 1]);
  for (const table of ["queryCosine", "querySine", "cosine", "sine"]) {
    graph.input(table, "float", [shape.maxPositions, shape.headSize / 2]);
  }
  if (kind === "extend") {
    graph.input("newMask", "float", [1, 1, "groupT", "T"]);
    graph.input("last", "int64", ["B"]);
  }
  const shared: SharedValues = { ...shapeValues(graph, shape, kind), adapted: new Set(ranks.keys()), int8 };
  // Bytes are multiplied from the right.
  const columnar = kind === "step" && int8.size === 0;
  let x = graph.apply("Gather", ["embedding", tokens]);
  if (columnar) x = transposed(graph, x);
  for (let layer = 0; layer < shape.layers; layer++) {
    const lastLayer = layer === shape.layers - 1;
    x = decoderLayer(graph, shape, kind, layer, x, shared, lastLayer && kind === "extend" ? "last" : undefined);
    graph.output(newKeysName(layer), "float", ["B", length, shape.keyValueHeads * shape.headSize]);
    graph.output(newValuesName(layer), "float", ["B", length, shape.keyValueHeads * shape.headSize]);
  }
  const normed = norm(graph, shape, columnar ? transposed(graph, x) : x, "finalNorm");
  const logits = linear(graph, shared, normed, shape.tiedHead ? "embedding" : "head");
  graph.node("Softmax", [graph.apply("Mul", [logits, inverseTemperature])], ["probabilities"], { axis: -1 });
  graph.output("probabilities", "float", ["B", shape.vocabularySize]);
  return graph.build();
}

interface SharedValues extends ShapeValues {
  /** Names of the parameters that have an adapter. */
  readonly adapted: ReadonlySet<string>;
  readonly int8: ReadonlyMap<string, Int8Matrix>;
}

interface ShapeValues {
  /** Shape values [B, T, width of queries, keys and values] and [B, T, ...heads]. */
  readonly projected: Value;
  /** Sizes of past and new, to split the attention weights. */
  readonly pastAndNew: Value;
  /** The mask of the past [B, 1, 1, S], for steps [B, 1, 1, 1, S]. */
  readonly pastMask: Value;
}

function shapeValues(graph: GraphBuilder, shape: ModelShape, kind: DecodeGraphKind): ShapeValues {
  const width = (shape.heads + 2 * shape.keyValueHeads) * shape.headSize;
  const past = graph.apply("Shape", ["pastMask"], { start: 3, end: 4 });
  if (kind === "step") {
    return {
      projected: graph.integers(-1, 1, width),
      pastAndNew: graph.apply("Concat", [past, graph.integers(1)], { axis: 0 }),
      pastMask: graph.apply("Unsqueeze", ["pastMask", graph.integers(1)]),
    };
  }
  const batchAndLength = graph.apply("Shape", ["positions"]);
  const added = graph.apply("Shape", ["positions"], { start: 1, end: 2 });
  return {
    projected: graph.apply("Concat", [batchAndLength, graph.integers(width)], { axis: 0 }),
    pastAndNew: graph.apply("Concat", [past, added], { axis: 0 }),
    pastMask: "pastMask",
  };
}

function norm(graph: GraphBuilder, shape: ModelShape, x: Value, gain: Value): Value {
  return graph.apply("SimplifiedLayerNormalization", [x, gain], { axis: -1, epsilon: { float: shape.rmsNormEps }, stash_type: 1 });
}

/** x [N, in] -> [N, out]. */
function linear(graph: GraphBuilder, { adapted, int8 }: SharedValues, x: Value, weight: Value, added?: Value): Value {
  const matrix = int8.get(weight);
  const y = matrix === undefined ? gemm(graph, x, weight, added) : withAdded(graph, int8Product(graph, x, weight, matrix), added);
  if (!adapted.has(weight)) return y;
  const { a, b } = adapterInputs(weight);
  return graph.apply("Gemm", [graph.apply("Gemm", [x, a], { transB: 1 }), b, y], { transB: 1 });
}

function gemm(graph: GraphBuilder, x: Value, weight: Value, added?: Value): Value {
  return graph.apply("Gemm", added === undefined ? [x, weight] : [x, weight, added], { transB: 1 });
}

function withAdded(graph: GraphBuilder, x: Value, added: Value | undefined): Value {
  return added === undefined ? x : graph.apply("Add", [x, added]);
}

/**
 * x -> [out, N]: with the weights on the left, only the few rows of x are packed, not the weights. `transB` 1: x is [N, in]; 0: it is
 * [in, N].
 */
function columns(graph: GraphBuilder, { adapted }: SharedValues, weight: Value, x: Value, transB: 0 | 1, added?: Value): Value {
  const y = graph.apply("Gemm", added === undefined ? [weight, x] : [weight, x, added], { transB });
  if (!adapted.has(weight)) return y;
  const { a, b } = adapterInputs(weight);
  return graph.apply("Gemm", [b, graph.apply("Gemm", [a, x], { transB }), y]);
}

function transposed(graph: GraphBuilder, x: Value): Value {
  return graph.apply("Transpose", [x], { perm: [1, 0] });
}

/**
 * x through one layer: [B*T, hidden], in steps [hidden, B] (unless its matrices are bytes). `keep`: only these rows go on after attention (the last layer's, for
 * prefill).
 */
function decoderLayer(
  graph: GraphBuilder,
  shape: ModelShape,
  kind: DecodeGraphKind,
  layer: number,
  x: Value,
  shared: SharedValues,
  keep: Value | undefined,
): Value {
  const parameter = (role: string) => `layers.${layer}.${role}`;
  const columnar = kind === "step" && shared.int8.size === 0;
  const normed = norm(graph, shape, columnar ? transposed(graph, x) : x, parameter("attentionNorm"));
  const bias = shape.qkvBias ? parameter("queryKeyValueBias") : undefined;
  const projected = graph.apply("Reshape", [linear(graph, shared, normed, parameter("queryKeyValue"), bias), shared.projected]);
  let attended = attention(graph, shape, kind, layer, projected, shared);
  if (columnar) {
    const afterAttention = columns(graph, shared, parameter("attentionOutput"), attended, 1, x);
    const inner = norm(graph, shape, transposed(graph, afterAttention), parameter("feedForwardNorm"));
    const activated = swiglu(graph, columns(graph, shared, parameter("gateUp"), inner, 1), 0);
    return columns(graph, shared, parameter("down"), activated, 0, afterAttention);
  }
  let residual = x;
  if (keep !== undefined) {
    attended = graph.apply("Gather", [attended, keep]);
    residual = graph.apply("Gather", [x, keep]);
  }
  const afterAttention = linear(graph, shared, attended, parameter("attentionOutput"), residual);
  const inner = norm(graph, shape, afterAttention, parameter("feedForwardNorm"));
  const activated = swiglu(graph, linear(graph, shared, inner, parameter("gateUp")), 1);
  return linear(graph, shared, activated, parameter("down"), afterAttention);
}

function swiglu(graph: GraphBuilder, gateUp: Value, axis: number): Value {
  const [gate, up] = graph.node("Split", [gateUp], 2, { axis, num_outputs: 2 }) as [Value, Value];
  return graph.apply("Mul", [graph.apply("QuickGelu", [gate], { alpha: { float: 1 } }, microsoft), up]);
}

/** projected [B, T, queries | keys | values] -> [B*T, heads*headSize]; declares nothing, names the new keys and values. */
function attention(
  graph: GraphBuilder,
  shape: ModelShape,
  kind: DecodeGraphKind,
  layer: number,
  projected: Value,
  shared: SharedValues,
): Value {
  const { heads, keyValueHeads, headSize } = shape;
  const pastKeys = graph.input(pastKeysName(layer), "float", ["B", keyValueHeads, "S", headSize]);
  const pastValues = graph.input(pastValuesName(layer), "float", ["B", keyValueHeads, "S", headSize]);
  const sizes = graph.integers(heads * headSize, keyValueHeads * headSize, keyValueHeads * headSize);
  const [rawQuery, rawKey, value] = graph.node("Split", [projected, sizes], [`query.${layer}`, `key.${layer}`, newValuesName(layer)], {
    axis: 2,
  }) as [Value, Value, Value];
  const headNorm = (input: Value, count: number, role: "queryNorm" | "keyNorm"): Value => {
    if (!shape.queryKeyNorm) return input;
    const separate = graph.apply("Reshape", [input, graph.integers(0, 0, count, headSize)]);
    const normed = norm(graph, shape, separate, `layers.${layer}.${role}`);
    return graph.apply("Reshape", [normed, graph.integers(0, 0, count * headSize)]);
  };
  // The scale of the scores is in the tables of the queries: a plain product has a faster kernel than a scaled one.
  const rotary = (input: Value, count: number, cosine: string, sine: string, output?: string) =>
    graph.node(
      "RotaryEmbedding",
      [input, "positions", cosine, sine],
      output ? [output] : 1,
      { num_heads: count, interleaved: 0 },
      microsoft,
    )[0] as Value;
  const query = rotary(headNorm(rawQuery, heads, "queryNorm"), heads, "queryCosine", "querySine");
  const key = rotary(headNorm(rawKey, keyValueHeads, "keyNorm"), keyValueHeads, "cosine", "sine", newKeysName(layer));

  const parts = { query, key, value, pastKeys, pastValues };
  return kind === "step" ? attendOne(graph, shape, parts, shared) : attendMany(graph, shape, parts, shared);
}

interface AttentionParts {
  /** [B, T, heads*headSize], the others [B, T, keyValueHeads*headSize]. */
  readonly query: Value;
  readonly key: Value;
  readonly value: Value;
  /** [B, keyValueHeads, S, headSize]. */
  readonly pastKeys: Value;
  readonly pastValues: Value;
}

/**
 * One new token a row. Query heads that share a key head stay separate products (an axis of their own, over which keys and values
 * are broadcast): a product with one row reads the cache as it lies, one with several would first rearrange it.
 */
function attendOne(graph: GraphBuilder, shape: ModelShape, parts: AttentionParts, shared: SharedValues): Value {
  const { heads, keyValueHeads, headSize } = shape;
  const perHead = (input: Value, group: number, length: number) =>
    graph.apply("Reshape", [input, graph.integers(0, keyValueHeads, group, length, headSize)]);
  const queries = perHead(parts.query, heads / keyValueHeads, 1);
  const pastScores = graph.apply("FusedMatMul", [queries, perHead(parts.pastKeys, 1, -1)], { transB: 1 }, microsoft);
  // A single new token needs no matrix products: its score is a sum of products, its share one product.
  const newScores = graph.apply("ReduceSum", [graph.apply("Mul", [queries, perHead(parts.key, 1, 1)]), graph.integers(-1)], {
    keepdims: 1,
  });
  const scores = graph.apply("Concat", [graph.apply("Add", [pastScores, shared.pastMask]), newScores], { axis: -1 });
  const weights = graph.apply("Softmax", [scores], { axis: -1 });
  const [pastWeights, newWeights] = graph.node("Split", [weights, shared.pastAndNew], 2, { axis: 4 }) as [Value, Value];
  const fromPast = graph.apply("MatMul", [pastWeights, perHead(parts.pastValues, 1, -1)]);
  const summed = graph.apply("Add", [fromPast, graph.apply("Mul", [newWeights, perHead(parts.value, 1, 1)])]);
  return graph.apply("Reshape", [summed, graph.integers(-1, heads * headSize)]);
}

/** Many new tokens a row: query heads that share a key head are folded into the query axis. */
function attendMany(graph: GraphBuilder, shape: ModelShape, parts: AttentionParts, shared: SharedValues): Value {
  const { heads, keyValueHeads, headSize } = shape;
  const perHead = (input: Value, count: number) =>
    graph.apply("Transpose", [graph.apply("Reshape", [input, graph.integers(0, 0, count, headSize)])], { perm: [0, 2, 1, 3] });
  const queries = graph.apply("Reshape", [perHead(parts.query, heads), graph.integers(0, keyValueHeads, -1, headSize)]);
  const scores = (keys: Value, mask: Value) =>
    graph.apply("Add", [graph.apply("FusedMatMul", [queries, keys], { transB: 1 }, microsoft), mask]);
  const both = [scores(parts.pastKeys, shared.pastMask), scores(perHead(parts.key, keyValueHeads), "newMask")];
  const weights = graph.apply("Softmax", [graph.apply("Concat", both, { axis: -1 })], { axis: -1 });
  const [pastWeights, newWeights] = graph.node("Split", [weights, shared.pastAndNew], 2, { axis: 3 }) as [Value, Value];
  const fromNew = graph.apply("MatMul", [newWeights, perHead(parts.value, keyValueHeads)]);
  const summed = graph.apply("Add", [graph.apply("MatMul", [pastWeights, parts.pastValues]), fromNew]);
  const separate = graph.apply("Reshape", [summed, graph.integers(0, heads, -1, headSize)]);
  return graph.apply("Reshape", [graph.apply("Transpose", [separate], { perm: [0, 2, 1, 3] }), graph.integers(-1, heads * headSize)]);
}

/** Numbers that one token's keys and values take in the cache, over all layers. */
export function cacheFloatsPerToken(shape: ModelShape): number {
  return 2 * shape.layers * shape.keyValueHeads * shape.headSize;
}
