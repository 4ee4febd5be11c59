/** A file that may lie in pieces, as `split` cuts it: part_aa, part_ab ... or part_0, part_1 ... */
import { type FileHandle, open, readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { DataError } from "../../errors.ts";

/** What a folder's file is called when it is whole. */
const wholeName = /\.(index|faiss)$/i;
const pieceName = /^(part[-_.]?|.*[-_.](?:part[-_.]?)?)(\d+|[a-z]{2,})$/;

interface Piece {
  readonly file: string;
  readonly stem: string;
  readonly suffix: string;
}

/**
 * The files behind paths, in the order in which they belong together. A folder means the index file in it, or the pieces of one.
 * @throws DataError when a path is missing, several files can't be told to be pieces of one, or a piece is missing.
 */
export async function faissFiles(paths: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for (const path of paths) {
    const info = await stat(path).catch((error: NodeJS.ErrnoException) => {
      throw new DataError(`can't be read (${error.code}): check the path`, { file: path }, { cause: error });
    });
    files.push(...(info.isDirectory() ? await filesOfFolder(path) : [path]));
  }
  if (files.length === 0) throw new DataError("no FAISS index is named: give its file, its pieces, or the folder that holds them");
  return files.length === 1 ? files : inOrder(files);
}

async function filesOfFolder(folder: string): Promise<string[]> {
  const names = await readdir(folder);
  const whole = names.filter((name) => wholeName.test(name));
  const pieces = names.filter((name) => /part[-_.]?(\d+|[a-z]{2,})$/.test(name) && pieceName.test(name));
  if (whole.length + Math.min(1, pieces.length) > 1) {
    const found = [...whole, ...pieces].sort().join(", ");
    throw new DataError(`the folder holds more than one index (${found}): name the file, or the pieces, that are meant`, { file: folder });
  }
  const found = whole.length > 0 ? whole : pieces;
  if (found.length > 0) return found.map((name) => join(folder, name));
  throw new DataError("the folder holds no FAISS index (NAME.index, NAME.faiss or pieces part_*): name its files", { file: folder });
}

function inOrder(files: readonly string[]): string[] {
  const pieces = files.map((file): Piece => {
    const [, stem, suffix] = pieceName.exec(basename(file)) ?? [];
    if (stem !== undefined && suffix !== undefined) return { file, stem, suffix };
    throw new DataError("its place among the pieces can't be told: pieces end in a number or in letters, as split names them (part_aa)", {
      file,
    });
  });
  const first = pieces.reduce((least, piece) => (precedes(piece.suffix, least.suffix) ? piece : least));
  const stranger = pieces.find(({ stem, suffix }) => stem !== first.stem || isNumber(suffix) !== isNumber(first.suffix));
  if (stranger) throw new DataError(`is no piece of the same file as ${first.file}: name the pieces of one index`, { file: stranger.file });
  const sorted = [...pieces].sort((one, other) => (precedes(one.suffix, other.suffix) ? -1 : 1));
  if (!/^(a+|0*[01])$/.test(first.suffix)) throw missing(first.file, `${first.stem}${beginning(first.suffix)}`);
  sorted.slice(1).forEach(({ file, suffix }, index) => {
    const before = (sorted[index] as Piece).suffix;
    if (!precedes(before, suffix)) throw new DataError("is named twice: name every piece once", { file });
    const due = successors(before);
    if (!due.some((name) => name === suffix || (isNumber(name) && Number(name) === Number(suffix)))) {
      throw missing(file, `${first.stem}${due[0]}`);
    }
  });
  return sorted.map(({ file }) => file);
}

function isNumber(suffix: string): boolean {
  return /^\d+$/.test(suffix);
}

function precedes(one: string, other: string): boolean {
  if (isNumber(one) && isNumber(other)) return Number(one) < Number(other);
  return one.length !== other.length ? one.length < other.length : one < other;
}

function beginning(suffix: string): string {
  return suffix.replace(/[a-z]/g, "a").replace(/\d/g, "0");
}

/** What may follow: the next name of the same kind and, where split has used up a length, the first of the next length. */
function successors(suffix: string): string[] {
  const alphabet = isNumber(suffix) ? "0123456789" : "abcdefghijklmnopqrstuvwxyz";
  const [zero, beforeLast, last] = [alphabet[0] as string, alphabet.at(-2) as string, alphabet.at(-1) as string];
  const symbols = [...suffix];
  let place = symbols.length - 1;
  while (place >= 0 && symbols[place] === last) symbols[place--] = zero;
  if (place >= 0) symbols[place] = alphabet[alphabet.indexOf(symbols[place] as string) + 1] as string;
  const next = place >= 0 ? symbols.join("") : `1${symbols.join("")}`;
  // split goes on after part_yz with part_zaaa, and after part_89 with part_9000.
  const full = new RegExp(`^(${last}*)${beforeLast}${last}+$`).exec(suffix);
  return full === null ? [next] : [next, `${full[1]}${last}`.padEnd(suffix.length + 2, zero)];
}

function missing(file: string, name: string): DataError {
  return new DataError(`the piece before it, ${name}, is missing: name all the pieces, or fetch it again`, {
    file,
  });
}

/** Files that are read as if they were one. */
export class JoinedFiles {
  private constructor(
    readonly files: readonly string[],
    private readonly handles: readonly FileHandle[],
    private readonly sizes: readonly number[],
  ) {}

  static async open(files: readonly string[]): Promise<JoinedFiles> {
    const handles: FileHandle[] = [];
    try {
      for (const file of files) {
        handles.push(
          await open(file).catch((error: NodeJS.ErrnoException) => {
            throw new DataError(`can't be read (${error.code}): check the path`, { file }, { cause: error });
          }),
        );
      }
      const sizes = await Promise.all(handles.map(async (handle) => (await handle.stat()).size));
      return new JoinedFiles(files, handles, sizes);
    } catch (error) {
      await Promise.all(handles.map((handle) => handle.close()));
      throw error;
    }
  }

  get size(): number {
    return this.sizes.reduce((sum, size) => sum + size, 0);
  }

  /** Fills `target` with the bytes from `position` on. @throws DataError naming the file that ends too early. */
  async read(target: Uint8Array, position: number): Promise<void> {
    let [done, start] = [0, 0];
    for (const [index, handle] of this.handles.entries()) {
      const end = start + (this.sizes[index] as number);
      while (done < target.length && position + done < end) {
        const length = Math.min(target.length, end - position) - done;
        const { bytesRead } = await handle.read(target, done, length, position + done - start);
        if (bytesRead === 0) throw new DataError("has become shorter while it was read", { file: this.files[index] as string });
        done += bytesRead;
      }
      start = end;
    }
    if (done < target.length) throw new DataError("ends too early", { file: this.files.at(-1) as string });
  }

  async close(): Promise<void> {
    await Promise.all(this.handles.map((handle) => handle.close()));
  }
}
