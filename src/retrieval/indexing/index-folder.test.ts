import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkFileSizes, clearIndexFolder, indexFileSizes, prepareIndexFolder, removeTemporaries } from "./index-folder.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cosearch-folder-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (name: string, text = "x") => writeFileSync(join(folder, name), text);

describe("prepareIndexFolder", () => {
  it("makes a folder, takes an empty one, and one that holds an index or what a killed first act left", async () => {
    await prepareIndexFolder(join(folder, "new", "index"));
    expect(existsSync(join(folder, "new", "index"))).toBe(true);
    rmSync(join(folder, "new"), { recursive: true });
    write("lock.json");
    write("build.json.77.partial");
    await prepareIndexFolder(folder);
    write("manifest.json", '{\n  "formatVersion": 1\n}');
    write("vectors.f32");
    await prepareIndexFolder(folder);
  });

  it.each(["thesis.docx", "notes.partial", "manifest.json"])("refuses a folder with other things, naming one (%s)", async (name) => {
    write(name, '{"name": "something else"}');
    await expect(prepareIndexFolder(folder)).rejects.toThrow(`holds other things (${name}): name a new or empty folder`);
  });

  it("refuses an index folder with a stranger's file", async () => {
    write("manifest.json", '{"formatVersion": 1}');
    write("notes.partial");
    await expect(prepareIndexFolder(folder)).rejects.toThrow("notes.partial");
  });
});

describe("clearIndexFolder", () => {
  it("removes everything of the index but the lock, and nothing else", async () => {
    for (const name of ["manifest.json", "vectors.f32", "embedder.json.1.partial", "lock.json"]) write(name);
    mkdirSync(join(folder, "documents"));
    write("documents/texts");
    write("mine.txt");
    await clearIndexFolder(folder);
    expect(readdirSync(folder).sort()).toEqual(["lock.json", "mine.txt"]);
  });

  it("removes leftovers of killed acts alone", async () => {
    for (const name of ["build.json", "build.json.12.partial", "skipped.jsonl"]) write(name);
    await removeTemporaries(folder);
    expect(readdirSync(folder).sort()).toEqual(["build.json", "skipped.jsonl"]);
  });
});

describe("checkFileSizes", () => {
  it("names the file that is missing or has another size", async () => {
    mkdirSync(join(folder, "bm25"));
    write("bm25/postings", "12345");
    write("vectors.f32", "1234");
    const sizes = await indexFileSizes(folder);
    expect(sizes).toEqual({ "bm25/postings": 5, "vectors.f32": 4 });
    await checkFileSizes(folder, sizes);
    write("vectors.f32", "123");
    await expect(checkFileSizes(folder, sizes)).rejects.toThrow(/vectors\.f32: has 3 bytes, the manifest says 4: restore/);
    rmSync(join(folder, "bm25/postings"));
    await expect(checkFileSizes(folder, sizes)).rejects.toThrow(/bm25\/postings: is missing/);
  });
});
