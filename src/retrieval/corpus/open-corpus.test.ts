import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readlink, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConfigError } from "../../errors.ts";
import type { SkippedPassage } from "./corpus-stream.ts";
import { openCorpus } from "./open-corpus.ts";

const fixtures = fileURLToPath(new URL("../../../test/fixtures/retrieval/", import.meta.url));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "corpus-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function written(name: string, content: string | Uint8Array): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, content);
  return file;
}
const good = '{"id":"1","title":"Peru","text":"Lima."}';

describe("openCorpus", () => {
  it("counts the bytes on the disk as it reads, and can be read again", async () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `{"id":${index},"text":"${Math.imul(index, 2654435761)}"}\n`);
    const paths = [
      await written("big.jsonl.gz", gzipSync(lines.join(""))),
      join(fixtures, "zstd.parquet"),
      await written("p.txt", "Lima."),
    ];
    const corpus = await openCorpus(paths);
    for (const _ of [1, 2]) {
      const seen: number[] = [];
      for await (const { place } of corpus) seen.push(place.file === paths[0] ? 0 : corpus.bytesRead());
      expect(seen.length).toBe(20_008);
      expect(seen.at(-1)).toBe(corpus.totalBytes);
    }
  });

  it("reads an archive of any length in the same memory", async () => {
    const lines = Array.from({ length: 2000 }, (_, index) => `{"id":${index},"text":"${"A harbour town. ".repeat(32)}"}\n`).join("");
    const member = gzipSync(lines);
    const members = 40;
    const file = await written("long.jsonl.gz", Buffer.concat(Array.from({ length: members }, () => member)));
    expect(lines.length * members).toBeGreaterThan(40 * 2 ** 20);
    setFlagsFromString("--expose-gc");
    const collectGarbage = runInNewContext("gc") as () => void;
    const held = () => {
      collectGarbage();
      return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
    };
    const before = held();
    let passages = 0;
    let most = 0;
    for await (const _ of await openCorpus([file])) if (passages++ % 10_000 === 0) most = Math.max(most, held() - before);
    expect(passages).toBe(2000 * members);
    expect(most).toBeLessThan(8 * 2 ** 20);
  });

  it("cuts texts into passages of the words asked for, in the order of names, the same every time", async () => {
    const docs = join(folder, "docs");
    await mkdir(join(docs, "part 10"), { recursive: true });
    await writeFile(join(docs, "part 10", "b.txt"), "One two three four. Five six seven eight.");
    await writeFile(join(docs, "part 2.md"), "# Two\n\nNine ten.");
    await writeFile(join(docs, "empty.txt"), "");
    const skipped: SkippedPassage[] = [];
    const read = async () => {
      const ids: string[] = [];
      for await (const { document } of await openCorpus([docs], { passageWords: 4, onSkip: (passage) => skipped.push(passage) }))
        ids.push(`${document.id} ${document.title}`);
      return ids;
    };
    expect(await read()).toEqual(["part 2.md#1 Two", "part 10/b.txt#1 b", "part 10/b.txt#2 b"]);
    expect(await read()).toEqual(await read());
    expect(skipped[0]).toEqual({ place: { file: join(docs, "empty.txt") }, reason: "holds no text: remove the file or fill it" });
  });

  it("stops at a damaged archive even where bad passages are skipped: what is lost can't be listed", async () => {
    const whole = gzipSync(`${good}\n`);
    const file = await written("cut.jsonl.gz", whole.subarray(0, -4));
    const readAll = async () => {
      for await (const _ of await openCorpus([file], { onSkip: () => undefined }));
    };
    await expect(readAll()).rejects.toThrow("cut.jsonl.gz:2: the gzip archive is truncated or corrupt");
  });

  const openFiles = "/proc/self/fd";
  it.skipIf(!existsSync(openFiles))("closes the file when the reader stops early", async () => {
    const file = await written("early.jsonl", `${good}\n`.repeat(100_000));
    const links = async () =>
      (await Promise.all((await readdir(openFiles)).map((name) => readlink(join(openFiles, name)).catch(() => "")))).sort();
    for await (const _ of await openCorpus([file])) {
      expect(await links()).toContain(await realpath(file));
      break;
    }
    expect(await links()).not.toContain(await realpath(file));
  });

  it("refuses a passage length that is no positive integer", async () => {
    await expect(openCorpus([await written("corpus.jsonl", good)], { passageWords: 0 })).rejects.toBeInstanceOf(ConfigError);
  });
});
