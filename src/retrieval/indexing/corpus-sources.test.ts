import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { corpusSources } from "./corpus-sources.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sources-"));
  await writeFile(join(folder, "a.md"), "text");
});
afterEach(() => rm(folder, { recursive: true }));

test("of a folder only what is read counts: hidden files, others and links to nowhere may change", async () => {
  const before = await corpusSources([folder]);
  expect(before[0]).toMatchObject({ bytes: 4 });
  await mkdir(join(folder, ".git"));
  await writeFile(join(folder, ".git/HEAD"), "changes often");
  await writeFile(join(folder, "picture.png"), "no text");
  await symlink("nowhere", join(folder, ".#a.md"));
  expect(await corpusSources([folder])).toEqual(before);
  await writeFile(join(folder, "b.md"), "more");
  expect((await corpusSources([folder]))[0]).toMatchObject({ bytes: 8 });
});

test("a path that is missing is named", async () => {
  await expect(corpusSources([join(folder, "none")])).rejects.toThrow("none: can't be read (ENOENT): check the path");
});
