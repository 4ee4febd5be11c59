import { setImmediate } from "node:timers/promises";
import { ByteFile } from "./bm25-bytes.ts";
import { type bm25Files, wordsPerEntry } from "./bm25-files.ts";
import { PostingsEncoder } from "./bm25-postings.ts";
import { SegmentReader } from "./bm25-segment.ts";

/** Words between two turns of other work. */
const wordsPerTurn = 4096;

/** Merges segments, whose rows follow one another, into the dictionary and the lists. `lengths`: words of each row. */
export async function mergeSegments(
  segments: readonly string[],
  files: ReturnType<typeof bm25Files>,
  lengths: Uint32Array,
  {
    onProgress,
    signal,
  }: { onProgress?: ((progress: { stage: "merging"; done: number }) => void) | undefined; signal?: AbortSignal | undefined },
): Promise<{ words: number; postings: number }> {
  const open: { close(): void }[] = [];
  const keep = <Kept extends { close(): void }>(kept: Kept): Kept => {
    open.push(kept);
    return kept;
  };
  try {
    const readers = segments.map((path) => keep(new SegmentReader(path)));
    const postings = keep(new ByteFile(files.postings));
    const words = keep(new ByteFile(files.words));
    const sparse = keep(new ByteFile(files.sparse));
    const encoder = new PostingsEncoder(postings);
    const total = { words: 0, postings: 0 };
    for (let word = leastWord(readers); word !== undefined; word = leastWord(readers)) {
      const start = postings.position;
      if (total.words % wordsPerEntry === 0) {
        sparse.word(word);
        sparse.double(words.position);
        sparse.double(start);
      }
      for (const reader of readers) {
        if (reader.word !== word) continue;
        reader.take((row, frequency) => encoder.add(row, frequency, lengths[row] as number));
      }
      const count = encoder.end();
      words.word(word);
      words.varint(count);
      words.varint(postings.position - start);
      total.words++;
      total.postings += count;
      for (const file of [postings, words, sparse]) file.drain();
      if (total.words % wordsPerTurn > 0) continue;
      signal?.throwIfAborted();
      onProgress?.({ stage: "merging", done: total.words });
      await setImmediate();
    }
    for (const file of [postings, words, sparse]) file.finish();
    return total;
  } finally {
    for (const one of open) one.close();
  }
}

function leastWord(readers: readonly SegmentReader[]): string | undefined {
  let least: string | undefined;
  for (const { word } of readers) {
    if (word !== undefined && (least === undefined || word < least)) least = word;
  }
  return least;
}
