/** Reads the vectors of a FAISS IndexFlat file (faiss/impl/index_write.cpp) without FAISS and without holding them. */
import type { Metric } from "../../config.ts";
import { DataError } from "../../errors.ts";
import { refusal } from "./faiss-kinds.ts";
import { faissFiles, JoinedFiles } from "./faiss-pieces.ts";

/** Bytes of vectors read at a time. */
const blockBytes = 4 * 2 ** 20;

/** An open IndexFlatIP or IndexFlatL2. */
export interface FaissFlat {
  /** The file, or its pieces in order. */
  readonly files: readonly string[];
  readonly rows: number;
  readonly dimensions: number;
  readonly metric: Exclude<Metric, "cosine">;
  /**
   * The vectors of rows `from` up to `to`, without `to` (all when absent), in blocks of whole rows one after the other; each block is a
   * new array, the next is read while one is used.
   * @throws DataError naming the file, and the row of a vector that holds a value that is no number.
   */
  read(from?: number, to?: number): AsyncGenerator<Float32Array>;
  close(): Promise<void>;
}

interface Header {
  readonly rows: number;
  readonly dimensions: number;
  readonly metric: FaissFlat["metric"];
  /** Where the vectors begin. */
  readonly bytes: number;
}

/**
 * Opens an index that `faiss.write_index` wrote.
 * @param paths The file; or its pieces (part_aa, part_ab ... or part_0, part_1 ...), in any order; or the folder that holds them.
 * @throws DataError when something is missing, the file is no flat index (telling what it is and how to get one of it), or its size is
 * not that of the vectors it promises.
 */
export async function openFaissFlat(paths: readonly string[]): Promise<FaissFlat> {
  const source = await JoinedFiles.open(await faissFiles(paths));
  try {
    const header = await readHeader(source);
    const { rows, dimensions, metric } = header;
    const read = (from = 0, to = rows) => vectorBlocks(source, header, from, to);
    return { files: source.files, rows, dimensions, metric, read, close: () => source.close() };
  } catch (error) {
    await source.close();
    throw error;
  }
}

/**
 * Four letters, then little-endian: int32 dimensions, int64 rows, two unused int64, one byte "is trained", int32 metric, a float32 argument
 * for metrics above 1, uint64 number of values; then the values, float32.
 */
async function readHeader(source: JoinedFiles): Promise<Header> {
  const file = source.files[0] as string;
  const view = new DataView(new ArrayBuffer(49));
  const known = Math.min(source.size, 49);
  await source.read(new Uint8Array(view.buffer, 0, known), 0);
  const letters = String.fromCharCode(...new Uint8Array(view.buffer, 0, 4));
  if (!["IxFI", "IxF2", "IxFl"].includes(letters)) throw new DataError(refusal(letters), { file });
  if (known < 45) throw new DataError(`ends within its header (${source.size} bytes): fetch it again`, { file });
  const dimensions = view.getInt32(4, true);
  const rows = Number(view.getBigInt64(8, true));
  const trained = view.getUint8(32);
  const metricNumber = view.getInt32(33, true);
  if (metricNumber > 1) throw new DataError(`has FAISS metric ${metricNumber}: only 0 (inner product) and 1 (L2) are supported`, { file });
  const sane = dimensions >= 1 && dimensions <= 2 ** 20 && rows >= 0 && rows <= 2 ** 40 && trained <= 1 && metricNumber >= 0;
  const expectedMetric = letters === "IxFI" ? 0 : letters === "IxF2" ? 1 : metricNumber;
  if (!sane || metricNumber !== expectedMetric) {
    throw new DataError(
      `the header is damaged (dimensions ${dimensions}, rows ${rows}, trained ${trained}, metric ${metricNumber} of ${letters}): fetch it again`,
      { file },
    );
  }
  const values = Number(view.getBigUint64(37, true));
  if (values !== rows * dimensions) {
    throw new DataError(`promises ${rows} rows of ${dimensions} dimensions but ${values} values: fetch it again`, { file });
  }
  checkSize(source, 45 + values * 4);
  return { rows, dimensions, metric: metricNumber === 0 ? "inner-product" : "l2", bytes: 45 };
}

function checkSize({ files, size }: JoinedFiles, expected: number): void {
  if (size === expected) return;
  const what = files.length === 1 ? "the file has" : `its ${files.length} pieces have`;
  const fix =
    size > expected
      ? "it is no index, or something was added to it"
      : files.length === 1
        ? "it is cut short, or the first of several pieces: fetch it again, or name all its pieces or their folder"
        : "a piece is missing at the end or cut short: fetch it again";
  throw new DataError(`${what} ${size} bytes, the header promises ${expected}: ${fix}`, { file: files[0] as string });
}

async function* vectorBlocks(source: JoinedFiles, header: Header, from: number, to: number): AsyncGenerator<Float32Array> {
  const { dimensions, rows, bytes } = header;
  if (!(from >= 0 && from <= to && to <= rows)) throw new RangeError(`rows ${from} to ${to}: the index has ${rows}`);
  const step = Math.max(1, Math.floor(blockBytes / (4 * dimensions)));
  const block = async (first: number) => {
    const values = new Float32Array(Math.min(step, to - first) * dimensions);
    await source.read(new Uint8Array(values.buffer), bytes + first * dimensions * 4);
    return values;
  };
  let next = from < to ? block(from) : undefined;
  try {
    for (let first = from; next !== undefined; first += step) {
      const values: Float32Array = await next;
      next = first + step < to ? block(first + step) : undefined;
      // Met by the await of the next turn.
      next?.catch(() => undefined);
      checkNumbers(values, first, dimensions, source.files[0] as string);
      yield values;
    }
  } finally {
    await next?.catch(() => undefined);
  }
}

function checkNumbers(values: Float32Array, first: number, dimensions: number, file: string): void {
  let sum = 0;
  // Zero for every number, NaN for everything else.
  for (const value of values) sum += value - value;
  if (sum === 0) return;
  const place = values.findIndex((value) => !Number.isFinite(value));
  const row = first + Math.floor(place / dimensions);
  throw new DataError(`row ${row} (counted from 0) holds ${values[place]} at dimension ${place % dimensions}: embed its passage again`, {
    file,
  });
}
