import { ConfigError, DataError } from "../../errors.ts";
import { type CorpusFile, corpusFiles } from "./corpus-files.ts";
import type { CorpusOptions, CorpusStream, PlacedDocument } from "./corpus-stream.ts";
import type { Entries } from "./entry.ts";
import { UnusablePassageError } from "./unusable-passage.ts";

/**
 * Opens a corpus: JSONL, DPR's TSV, Parquet, texts (.md, .txt, .html), or folders of one of these. It can be iterated more than
 * once; `bytesRead` then starts again.
 * @throws ConfigError when no path is given or `passageWords` is no positive integer; DataError for a path that can't be read (see
 * `corpusFiles`). Iterating throws an UnusablePassageError (unless `onSkip` is given), and a DataError for a damaged file (always: how many
 * passages are lost can't be told), and a corpus without any passage.
 */
export async function openCorpus(paths: readonly string[], options: CorpusOptions = {}): Promise<CorpusStream> {
  const { passageWords = 100 } = options;
  if (!Number.isInteger(passageWords) || passageWords < 1)
    throw new ConfigError(`passageWords must be a positive integer, got ${passageWords}`);
  const others: string[] = [];
  const files = await corpusFiles(paths, options.format, (file) => others.push(file));
  let bytesRead = 0;
  return {
    totalBytes: files.reduce((sum, file) => sum + file.size, 0),
    others,
    bytesRead: () => bytesRead,
    [Symbol.asyncIterator]() {
      bytesRead = 0;
      const count = (bytes: number) => {
        bytesRead += bytes;
      };
      return passages(files, { ...options, passageWords }, paths, count);
    },
  };
}

async function* passages(
  files: readonly CorpusFile[],
  { onSkip, passageWords }: CorpusOptions & { readonly passageWords: number },
  paths: readonly string[],
  onRead: (bytes: number) => void,
): AsyncGenerator<PlacedDocument> {
  let used = 0;
  let skipped = 0;
  for (const file of files) {
    for await (const entries of await entriesOf(file, passageWords, onRead)) {
      for (const entry of entries) {
        if ("document" in entry) {
          used++;
          yield entry;
        } else if (onSkip === undefined) throw new UnusablePassageError(entry.reason, entry.place);
        else {
          skipped++;
          onSkip(entry);
        }
      }
    }
  }
  if (used > 0) return;
  const fix = skipped > 0 ? `all ${skipped} were unusable` : "expected JSONL of {id, title, text}, DPR's TSV, Parquet or texts";
  throw new DataError(`holds no passage: ${fix}`, { file: paths.join(", ") });
}

/** Readers are loaded when a file needs them: the command line must start fast. */
async function entriesOf({ file, format, name }: CorpusFile, passageWords: number, onRead: (bytes: number) => void): Promise<Entries> {
  switch (format) {
    case "jsonl":
      return (await import("./jsonl-corpus.ts")).jsonlEntries(file, onRead);
    case "dpr":
      return (await import("./dpr-corpus.ts")).dprEntries(file, onRead);
    case "parquet":
      return (await import("./parquet-corpus.ts")).parquetEntries(file, onRead);
    case "text":
      return (await import("./text-corpus.ts")).textEntries(file, name, passageWords, onRead);
  }
}
