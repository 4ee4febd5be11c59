import { readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { ConfigError, DataError } from "../../errors.ts";
import type { CorpusFormat } from "./corpus-stream.ts";
import { unreadable } from "./file-bytes.ts";
import { filesBelow } from "./files-below.ts";

/** A format that a single file has. */
export type FileFormat = Exclude<CorpusFormat, "auto">;

/** A file of the corpus. `name`: a text's path below the folder that all texts of the corpus share, with `/` on every system. */
export interface CorpusFile {
  readonly file: string;
  readonly format: FileFormat;
  /** Bytes on the disk. */
  readonly size: number;
  /** Latest change, in milliseconds since 1970. */
  readonly modified: number;
  readonly name: string;
}

const extensions: Readonly<Record<FileFormat, readonly string[]>> = {
  jsonl: [".jsonl", ".ndjson"],
  dpr: [".tsv"],
  parquet: [".parquet"],
  text: [".md", ".markdown", ".txt", ".html", ".htm"],
};
const beirFiles = ["corpus.jsonl", "corpus.jsonl.gz", "corpus.jsonl.zst"];
/** Texts about a data set that lie beside its files. */
const aboutTheData = /^(readme|licen[cs]e|changelog|citation|dataset_?card|notice)\b/i;

/**
 * The files behind the paths of a corpus, in the order given; those of a folder in natural name order, all folders below it
 * included, hidden files, node_modules and index folders left out. A folder that holds corpus.jsonl (BEIR) means that file.
 * `onOther` hears of every file of another kind in a folder of texts, which is not read.
 * @throws ConfigError when no path is given; DataError for a path that is missing, of no known kind, named twice, or a folder that
 * holds nothing to read or files of several formats.
 */
export async function corpusFiles(
  paths: readonly string[],
  format: CorpusFormat = "auto",
  onOther: (file: string) => void = () => undefined,
): Promise<CorpusFile[]> {
  if (paths.length === 0) throw new ConfigError("no corpus is named: give the path of a file or folder");
  const found: { readonly file: string; readonly format: FileFormat; readonly root: string }[] = [];
  const pathOf = new Map<string, string>();
  for (const path of paths) {
    const info = await stat(path).catch((error: unknown) => {
      throw unreadable(path, error);
    });
    const files = info.isDirectory() ? await folderFiles(path, format, onOther) : [{ file: path, format: fileFormat(path, format) }];
    const root = info.isDirectory() ? resolve(path) : dirname(resolve(path));
    const real = await Promise.all(paths.length === 1 ? [] : files.map(({ file }) => realName(file)));
    for (const [index, name] of real.entries()) {
      const earlier = pathOf.get(name);
      if (earlier !== undefined) {
        const file = (files[index] as { file: string }).file;
        throw new DataError(`is named twice (${earlier} and ${path}): name every file once`, { file });
      }
    }
    for (const name of real) pathOf.set(name, path);
    found.push(...files.map((file) => ({ ...file, root })));
  }
  const base = sharedFolder(found.filter((file) => file.format === "text").map((file) => file.root));
  return Promise.all(
    found.map(async ({ file, format }) => {
      const name = relative(base, resolve(file)).split(sep).join("/");
      // A link to nowhere is reported when it is read, where texts may be skipped.
      const about = await stat(file).catch(() => undefined);
      return { file, format, size: about?.size ?? 0, modified: Math.round(about?.mtimeMs ?? 0), name };
    }),
  );
}

/** A file's place with the links above it followed; one that is a link itself stays: the Hub's cache links files of equal content to one. */
async function realName(file: string): Promise<string> {
  return join(await realpath(dirname(file)), basename(file));
}

function fileFormat(file: string, wanted: CorpusFormat): FileFormat {
  const known = formatOfName(file);
  if (wanted === "auto") {
    if (known !== undefined) return known;
    const kinds = Object.values(extensions).flat().join(", ");
    throw new DataError(`is of no known kind (${kinds}; also .gz and .zst of them): rename it or set the format`, { file });
  }
  if (wanted === "text" && known !== "text")
    throw new DataError(`is no text (${extensions.text.join(", ")}): correct the format`, { file });
  return wanted;
}

function formatOfName(file: string): FileFormat | undefined {
  const lowered = basename(file).toLowerCase();
  const plain = lowered.replace(/\.(gz|zst)$/, "");
  const formats = Object.keys(extensions) as FileFormat[];
  const format = formats.find((candidate) => extensions[candidate].some((extension) => plain.endsWith(extension)));
  // Parquet compresses inside; an archive of it can't be read from the end, where its table of contents is.
  return format === "parquet" && plain !== lowered ? undefined : format;
}

async function folderFiles(
  folder: string,
  wanted: CorpusFormat,
  onOther: (file: string) => void,
): Promise<{ file: string; format: FileFormat }[]> {
  if (wanted === "auto" || wanted === "jsonl") {
    const names = new Set(await readdir(folder));
    const beir = beirFiles.find((name) => names.has(name));
    if (beir !== undefined) return [{ file: join(folder, beir), format: "jsonl" }];
  }
  const known: { file: string; format: FileFormat }[] = [];
  const others: string[] = [];
  for await (const file of filesBelow(folder)) {
    const format = formatOfName(file);
    if (format !== undefined && (wanted === "auto" || format === wanted)) known.push({ file, format });
    else others.push(file);
  }
  if (known.length === 0) {
    const kinds = wanted === "auto" ? Object.values(extensions).flat() : extensions[wanted];
    throw new DataError(`the folder holds no file to read (${kinds.join(", ")})`, { file: folder });
  }
  if (new Set(known.map((entry) => entry.format)).size === 1) {
    if (known[0]?.format === "text") others.forEach(onOther);
    return known;
  }
  const data = known.filter(({ file, format }) => format !== "text" || !aboutTheData.test(basename(file)));
  const formats = [...new Set(data.map((entry) => entry.format))];
  if (formats.length === 1) return data;
  const counts = formats.map((format) => `${data.filter((entry) => entry.format === format).length} ${format}`).join(", ");
  const choices = formats.map((format) => `--format ${format}`).join(" or ");
  throw new DataError(
    `the folder holds files of several formats (${counts}): choose one with ${choices} (retrieval.format), or name the files`,
    { file: folder },
  );
}

/** The deepest folder that holds all of these (absolute paths); of paths on several drives, a drive. */
function sharedFolder(folders: readonly string[]): string {
  let shared = folders[0] ?? sep;
  for (const folder of folders) {
    while (folder !== shared && !folder.startsWith(shared.endsWith(sep) ? shared : shared + sep) && dirname(shared) !== shared) {
      shared = dirname(shared);
    }
  }
  return shared;
}
