import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ConfigError, DataError } from "../../errors.ts";
import { corpusFiles } from "./corpus-files.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "files-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function make(...names: readonly string[]): Promise<void> {
  for (const name of names) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), name);
  }
}
const found = async (paths: readonly string[] = [""], format?: Parameters<typeof corpusFiles>[1]) =>
  (
    await corpusFiles(
      paths.map((path) => join(folder, path)),
      format,
    )
  ).map((file) => `${relative(folder, file.file)} ${file.format}`);

describe("corpusFiles", () => {
  it("passes over an index among the texts, so that one can lie beside what it was built from", async () => {
    await make("a.md", "indexes/mine/documents/documents.jsonl", "indexes/mine/skipped.jsonl");
    await writeFile(join(folder, "indexes/mine/build.json"), '{"formatVersion": 1}');
    expect(await found()).toEqual(["a.md text"]);
  });

  it("takes shards in the order of their numbers, folders below included, hidden ones not", async () => {
    await make(
      "part-10.jsonl.gz",
      "part-2.jsonl.zst",
      "part-1.ndjson",
      "sub/part-3.jsonl",
      ".git/x.jsonl",
      "node_modules/y.jsonl",
      "notes.pdf",
    );
    expect(await found()).toEqual(["part-1.ndjson jsonl", "part-2.jsonl.zst jsonl", "part-10.jsonl.gz jsonl", "sub/part-3.jsonl jsonl"]);
  });

  it("takes corpus.jsonl alone from a BEIR folder, and the data from a data set's folder", async () => {
    await make("beir/corpus.jsonl.gz", "beir/queries.jsonl", "beir/qrels/test.tsv");
    expect(await found(["beir"])).toEqual(["beir/corpus.jsonl.gz jsonl"]);
    await make("hub/README.md", "hub/LICENSE.txt", "hub/data/train-00001-of-00002.parquet", "hub/data/train-00000-of-00002.parquet");
    expect(await found(["hub"])).toEqual([
      "hub/data/train-00000-of-00002.parquet parquet",
      "hub/data/train-00001-of-00002.parquet parquet",
    ]);
  });

  it("takes every kind of text, and names it by its path below the folder", async () => {
    await make("docs/a.md", "docs/b/c.HTML", "docs/b/d.txt.gz", "docs/README.md", "other/e.markdown");
    const names = async (...paths: string[]) => (await corpusFiles(paths.map((path) => join(folder, path)))).map(({ name }) => name);
    expect(await names("docs")).toEqual(["a.md", "b/c.HTML", "b/d.txt.gz", "README.md"]);
    expect(await names("docs/b/d.txt.gz")).toEqual(["d.txt.gz"]);
    expect(await names("docs", "other")).toEqual(["docs/a.md", "docs/b/c.HTML", "docs/b/d.txt.gz", "docs/README.md", "other/e.markdown"]);
  });

  it("tells which files a folder of texts leaves out, hidden ones and data beside data not", async () => {
    await make("docs/a.md", "docs/b/scan.PDF", "docs/c.jsonl", "docs/Makefile", "docs/.hidden.pdf", "data/x.jsonl", "data/x.pdf");
    const others = async (path: string, format?: Parameters<typeof corpusFiles>[1]) => {
      const files: string[] = [];
      await corpusFiles([join(folder, path)], format, (file) => files.push(relative(folder, file)));
      return files;
    };
    expect(await others("docs", "text")).toEqual(["docs/b/scan.PDF", "docs/c.jsonl", "docs/Makefile"]);
    expect(await others("data")).toEqual([]);
    expect(await others("docs/a.md")).toEqual([]);
  });

  it("gives the sizes on the disk", async () => {
    await make("a.jsonl");
    expect(await corpusFiles([join(folder, "a.jsonl")])).toMatchObject([{ size: 7 }]);
  });

  it("follows links, but not round in a circle, and keeps a link to nowhere for the reader to report", async () => {
    await make("real/a.md", "docs/b.md");
    await symlink(join(folder, "real"), join(folder, "docs/linked"));
    await symlink(join(folder, "docs"), join(folder, "docs/circle"));
    await symlink(join(folder, "nowhere.md"), join(folder, "docs/gone.md"));
    expect(await found(["docs"])).toEqual(["docs/b.md text", "docs/gone.md text", "docs/linked/a.md text"]);
  });

  it("takes links to one file for files of equal content, and folders that links lead to for the same", async () => {
    await make("blob", "real/a.md");
    await mkdir(join(folder, "snapshot"));
    for (const name of ["one.txt", "two.txt"]) await symlink(join(folder, "blob"), join(folder, "snapshot", name));
    expect(await found(["snapshot/one.txt", "snapshot/two.txt"])).toHaveLength(2);
    await symlink(join(folder, "real"), join(folder, "linked"));
    await expect(found(["real", "linked"])).rejects.toThrow(/linked\/a\.md: is named twice/);
  });

  it("takes the format that is set over the name", async () => {
    await make("a.json", "folder/a.jsonl", "folder/b.tsv");
    expect(await found(["a.json"], "jsonl")).toEqual(["a.json jsonl"]);
    expect(await found(["folder"], "dpr")).toEqual(["folder/b.tsv dpr"]);
  });

  it("says what is wrong with a path", async () => {
    await make("a.json", "mixed/a.jsonl", "mixed/b.tsv", "mixed/c.tsv", "empty/x.pdf", "rows.parquet.gz");
    const failure = (paths: readonly string[], format?: Parameters<typeof corpusFiles>[1]) =>
      found(paths, format).catch((error: Error) => error.message.replaceAll(folder, "FOLDER"));
    await expect(corpusFiles([])).rejects.toBeInstanceOf(ConfigError);
    await expect(found(["none.jsonl"])).rejects.toBeInstanceOf(DataError);
    expect(await failure(["none.jsonl"])).toBe("FOLDER/none.jsonl: can't be read (ENOENT): check the path");
    expect(await failure(["a.json"])).toMatch(/^FOLDER\/a\.json: is of no known kind \(\.jsonl, .*\): rename it or set the format$/);
    expect(await failure(["rows.parquet.gz"])).toMatch(/is of no known kind/);
    expect(await failure(["a.json"], "text")).toMatch(/is no text/);
    expect(await failure(["empty"])).toMatch(/^FOLDER\/empty: the folder holds no file to read \(\.jsonl, /);
    expect(await failure(["mixed"])).toBe(
      "FOLDER/mixed: the folder holds files of several formats (1 jsonl, 2 dpr): choose one with --format jsonl or --format dpr (retrieval.format), or name the files",
    );
    expect(await failure(["mixed/a.jsonl", "mixed/../mixed/a.jsonl"])).toMatch(/mixed\/a\.jsonl: is named twice/);
  });
});
