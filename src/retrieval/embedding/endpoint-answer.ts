/** Reads the answer of an OpenAI-compatible `/v1/embeddings`. */

import { MalformedAnswerError } from "../../endpoint/endpoint-failure.ts";
import { isRecord, shown } from "../../json-values.ts";

/**
 * The vectors of an answer, ordered by `index` (by position where no item has one); lists of numbers or base64 of little-endian float32.
 * @param count Vectors that were asked for.
 * @param dimensions Their length; undefined: not known yet.
 * @throws MalformedAnswerError
 */
export function readEmbeddings(answer: unknown, count: number, dimensions: number | undefined): Float32Array[] {
  const data = isRecord(answer) ? answer["data"] : undefined;
  if (!Array.isArray(data)) throw new MalformedAnswerError(`expected {"data": [...]}, got ${shown(answer)}`);
  if (data.length !== count) throw new MalformedAnswerError(`${data.length} embeddings for ${count} texts`);
  const places = orderOf(data);
  const vectors: Float32Array[] = new Array(count);
  data.forEach((item: unknown, position) => {
    const place = `data[${position}].embedding`;
    const vector = readVector(isRecord(item) ? item["embedding"] : undefined, place);
    const expected = dimensions ?? vectors.find((other) => other !== undefined)?.length ?? vector.length;
    if (vector.length === 0 || vector.length !== expected) {
      throw new MalformedAnswerError(`${place} has ${vector.length} dimensions, expected ${expected === 0 ? "some" : expected}`);
    }
    if (!vector.every(Number.isFinite)) throw new MalformedAnswerError(`${place} holds values that are no finite numbers`);
    vectors[places[position] as number] = vector;
  });
  return vectors;
}

/** For every item of the answer, which text it belongs to. */
function orderOf(data: readonly unknown[]): number[] {
  const indices = data.map((item) => (isRecord(item) ? item["index"] : undefined));
  if (indices.every((index) => index === undefined)) return indices.map((_, position) => position);
  const seen = new Set<unknown>();
  return indices.map((index, position) => {
    if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index >= data.length || seen.has(index)) {
      throw new MalformedAnswerError(`data[${position}].index is ${shown(index)}, expected every number from 0 to ${data.length - 1} once`);
    }
    seen.add(index);
    return index;
  });
}

function readVector(value: unknown, place: string): Float32Array {
  if (typeof value === "string") {
    const bytes = Buffer.from(value, "base64");
    if (bytes.length % 4 !== 0) throw new MalformedAnswerError(`${place} is no base64 of 32-bit numbers: ${bytes.length} bytes`);
    return Float32Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(4 * index));
  }
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === "number" || entry === null)) {
    throw new MalformedAnswerError(`${place}: expected a list of numbers or base64, got ${shown(value)}`);
  }
  // JSON has no NaN: servers write null for it.
  return Float32Array.from(value as (number | null)[], (entry) => entry ?? Number.NaN);
}
