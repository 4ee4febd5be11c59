import { createHash } from "node:crypto";
import { DataError } from "../../errors.ts";
import { readIfPresent, writeAtomically } from "../../files/atomic-file.ts";

/** Settings and learnt statistics of a `HashedEmbedder`: plain data, all that is needed to rebuild it. */
export interface HashedEmbedderState {
  readonly dimensions: number;
  /** Exponent of the inverse document frequency: 0 counts all words alike, larger values favour rare words (names). */
  readonly idfPower: number;
  /** Weight of a word's character trigrams relative to the word itself; 0: none. */
  readonly trigramWeight: number;
  /** Documents seen by `fit`. */
  readonly documents: number;
  /** Number of documents that hold each word (and trigram, spelled `#abc`), sorted by feature. */
  readonly documentFrequencies: readonly (readonly [string, number])[];
}

/** Entries hashed at once; part of the fingerprint's definition. */
const pieceSize = 4096;

/** SHA-256 (hexadecimal) of all that decides the vectors. */
export function hashedFingerprint(state: HashedEmbedderState): string {
  const hash = createHash("sha256").update(JSON.stringify(settingsOf(state)));
  const { documentFrequencies } = state;
  // Piece by piece: of a large corpus the whole would be longer than a string may be.
  for (let from = 0; from < documentFrequencies.length; from += pieceSize) {
    hash.update(JSON.stringify(documentFrequencies.slice(from, from + pieceSize)));
  }
  return hash.digest("hex");
}

/** Writes the state as JSON with its fingerprint, as one act. */
export async function writeHashedState(file: string, state: HashedEmbedderState): Promise<void> {
  const { documentFrequencies } = state;
  const head = JSON.stringify({ ...settingsOf(state), fingerprint: hashedFingerprint(state) });
  const entries = documentFrequencies.map((entry) => JSON.stringify(entry)).join(",\n");
  await writeAtomically(file, `${head.slice(0, -1)},"documentFrequencies":[\n${entries}\n]}\n`);
}

/**
 * Reads what `writeHashedState` wrote.
 * @throws DataError naming the file and what is wrong with it: missing, not whole, changed.
 */
export async function readHashedState(file: string): Promise<HashedEmbedderState> {
  const text = await readIfPresent(file);
  if (text === undefined) throw damaged(file, "is missing");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw damaged(file, `is not valid JSON (${(error as Error).message})`, error);
  }
  if (!isState(value)) throw damaged(file, "does not hold a hashed embedder's statistics");
  const { dimensions, idfPower, trigramWeight, documents, documentFrequencies, fingerprint } = value;
  const state = { dimensions, idfPower, trigramWeight, documents, documentFrequencies };
  const found = hashedFingerprint(state);
  if (fingerprint !== found) throw damaged(file, `was changed (its fingerprint is ${found}, it says ${fingerprint})`);
  return state;
}

function isState(value: unknown): value is HashedEmbedderState & { readonly fingerprint: unknown } {
  if (typeof value !== "object" || value === null) return false;
  const { dimensions, idfPower, trigramWeight, documents, documentFrequencies } = value as Partial<HashedEmbedderState>;
  if (!Number.isInteger(dimensions) || !Number.isInteger(documents) || !Array.isArray(documentFrequencies)) return false;
  if (typeof idfPower !== "number" || typeof trigramWeight !== "number") return false;
  return documentFrequencies.every((entry) => Array.isArray(entry) && typeof entry[0] === "string" && Number.isInteger(entry[1]));
}

function settingsOf({
  dimensions,
  idfPower,
  trigramWeight,
  documents,
}: HashedEmbedderState): Omit<HashedEmbedderState, "documentFrequencies"> {
  return { dimensions, idfPower, trigramWeight, documents };
}

function damaged(file: string, what: string, cause?: unknown): DataError {
  return new DataError(`${what}: restore it, or build the index again`, { file }, { cause });
}
