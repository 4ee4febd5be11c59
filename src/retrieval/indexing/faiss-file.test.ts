import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openExactIndex, openExactWriter } from "./exact-vectors.ts";
import { openFaissFlat } from "./faiss-file.ts";
import { faissFiles } from "./faiss-pieces.ts";

const fixture = (name: string) => fileURLToPath(new URL(`../../../test/fixtures/retrieval/faiss/${name}`, import.meta.url));
interface Golden {
  readonly queries: readonly (readonly number[])[];
  readonly ip: { readonly rows: readonly (readonly number[])[]; readonly scores: readonly (readonly number[])[] };
  readonly l2: Golden["ip"];
}

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "faiss-file-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** Cuts a file into pieces of these names in `folder`. */
async function cut(file: string, names: readonly string[]): Promise<string[]> {
  const bytes = await readFile(file);
  const size = Math.ceil(bytes.length / names.length);
  const paths = names.map((name) => join(folder, name));
  await Promise.all(paths.map((path, index) => writeFile(path, bytes.subarray(index * size, (index + 1) * size))));
  return paths;
}

async function allValues(paths: readonly string[]): Promise<number[]> {
  const flat = await openFaissFlat(paths);
  const values: number[] = [];
  try {
    for await (const block of flat.read()) values.push(...block);
  } finally {
    await flat.close();
  }
  return values;
}

const refusalOf = async (paths: readonly string[]) => {
  const error = await openFaissFlat(paths).then(
    () => undefined,
    (reason: Error) => reason,
  );
  expect(error?.name).toBe("DataError");
  return error?.message ?? "";
};

describe("an IndexFlat that faiss wrote", () => {
  it.each([
    ["ip", "inner-product"],
    ["l2", "l2"],
  ] as const)("%s is read, and searched to the same 50 best as faiss finds", async (name, metric) => {
    const golden = JSON.parse(await readFile(fixture("golden.json"), "utf8")) as Golden;
    const flat = await openFaissFlat([fixture(`${name}.index`)]);
    expect(flat).toMatchObject({ rows: 200, dimensions: 16, metric });
    const file = join(folder, "vectors.f32");
    const writer = await openExactWriter(file, 16);
    for await (const block of flat.read()) await writer.append(block);
    await writer.close();
    await flat.close();
    const index = await openExactIndex(file, { dimensions: 16, metric, rows: 200, threads: 1 });
    const found = await index.search(
      golden.queries.map((query) => Float32Array.from(query)),
      50,
    );
    await index.close();
    found.forEach((hits, query) => {
      const [rows, scores] = [golden[name].rows[query] as number[], golden[name].scores[query] as number[]];
      // faiss gives squared distances for L2, the smallest first.
      const sign = metric === "l2" ? -1 : 1;
      hits.forEach(({ score }, place) => {
        expect(score).toBeCloseTo(sign * (scores[place] as number), 3);
      });
      // Equal scores (rows 190 to 199 are rows 0 to 9 again) may come in another order, and the last of them be cut off.
      const sole = (row: number) => row >= 10 && row < 190;
      expect(hits.map(({ row }) => row).filter(sole)).toEqual(rows.filter(sole));
    });
  });

  it("is read from its pieces, in numeric order, as a list or a folder", async () => {
    const whole = await allValues([fixture("ip.index")]);
    const numbers = Array.from({ length: 12 }, (_, index) => `part_${index}`);
    const paths = await cut(fixture("ip.index"), numbers);
    // As a shell lists them: part_0 part_1 part_10 part_11 part_2 ...
    expect(await allValues([...paths].sort())).toEqual(whole);
    expect(await allValues([folder])).toEqual(whole);
    await rm(folder, { recursive: true });
    folder = await mkdtemp(join(tmpdir(), "faiss-file-"));
    await cut(fixture("ip.index"), ["part_aa", "part_ab", "part_ac"]);
    expect(await allValues([folder])).toEqual(whole);
  });

  it("is read from a row to another", async () => {
    const flat = await openFaissFlat([fixture("l2.index")]);
    const blocks: Float32Array[] = [];
    for await (const block of flat.read(190, 200)) blocks.push(block);
    const first = (await flat.read(0, 10).next()).value;
    expect(blocks).toEqual([first]);
    expect(await flat.read(7, 7).next()).toEqual({ done: true, value: undefined });
    await expect(flat.read(0, 201).next()).rejects.toThrow("rows 0 to 201: the index has 200");
    await flat.close();
  });

  it("with a value that is no number is refused when it is met, with its row", async () => {
    const bytes = await readFile(fixture("ip.index"));
    bytes.writeFloatLE(Number.NaN, 45 + (123 * 16 + 5) * 4);
    await writeFile(join(folder, "nan.index"), bytes);
    await expect(allValues([folder])).rejects.toThrow("nan.index: row 123 (counted from 0) holds NaN at dimension 5");
  });
});

describe("what can't be read", () => {
  it.each([
    ["idmap", /is an IndexIDMap \(IxMp\): only IndexFlatIP and IndexFlatL2 can be read; .*read_index\(FILE\)\.index/],
    ["ivf", /is an inverted file \(IVF\) of whole vectors \(IwFl\).*make_direct_map.*reconstruct_n/],
    ["hnsw", /is an HNSW graph over whole vectors \(IHNf\).*storage/],
    ["l1", /has FAISS metric 2: only 0 \(inner product\) and 1 \(L2\)/],
  ])("%s is named, with what to do", async (name, message) => {
    expect(await refusalOf([fixture(`${name}.index`)])).toMatch(message);
  });

  it("a piece that is missing is named", async () => {
    const paths = await cut(fixture("ip.index"), ["part_aa", "part_ab", "part_ac", "part_ad"]);
    expect(await refusalOf([paths[0], paths[1], paths[3]] as string[])).toContain("part_ad: the piece before it, part_ac, is missing");
    expect(await refusalOf(paths.slice(1))).toContain("part_ab: the piece before it, part_aa, is missing");
    expect(await refusalOf(paths.slice(0, 3))).toMatch(
      /its 3 pieces have \d+ bytes, the header promises 12845: a piece is missing at the end/,
    );
    expect(await refusalOf(paths.slice(0, 1))).toContain("name all its pieces or their folder");
    expect(await refusalOf([...paths, paths[2] as string])).toContain("part_ac: is named twice");
  });

  it("a file that is too long, too short, damaged, of another kind or not there is named", async () => {
    const bytes = await readFile(fixture("ip.index"));
    const refused = async (content: Uint8Array) => {
      await writeFile(join(folder, "x.index"), content);
      return refusalOf([join(folder, "x.index")]);
    };
    expect(await refused(Buffer.concat([bytes, Buffer.alloc(1)]))).toContain("has 12846 bytes, the header promises 12845");
    expect(await refused(bytes.subarray(0, 40))).toContain("ends within its header (40 bytes)");
    expect(await refused(Buffer.alloc(0))).toContain("is no FAISS index");
    expect(await refused(Buffer.from([0x1f, 0x8b, 8, 0]))).toContain("is a gzip archive: unpack it first");
    expect(await refused(Buffer.from("hello"))).toContain("begins with bytes 68656c6c");
    const other = Buffer.from(bytes);
    other.writeBigUInt64LE(3201n, 37);
    expect(await refused(other)).toContain("promises 200 rows of 16 dimensions but 3201 values");
    other.writeInt32LE(-1, 4);
    expect(await refused(other)).toContain("the header is damaged (dimensions -1");
    expect(await refusalOf([join(folder, "absent")])).toContain("absent: can't be read (ENOENT)");
  });

  it("a folder with none or several is refused", async () => {
    expect(await refusalOf([folder])).toContain("holds no FAISS index");
    await copyFile(fixture("ip.index"), join(folder, "e5_Flat.index"));
    await cut(fixture("ip.index"), ["part_aa", "part_ab"]);
    expect(await refusalOf([folder])).toContain("more than one index (e5_Flat.index, part_aa, part_ab)");
  });
});

describe("faissFiles", () => {
  const ordered = async (names: readonly string[]) => {
    await Promise.all(names.map((name) => writeFile(join(folder, name), "")));
    const files = await faissFiles(names.map((name) => join(folder, name)));
    return files.map((file) => file.slice(folder.length + 1));
  };

  it("knows how split goes on when it has used up its names", async () => {
    expect(await ordered(["x.index.zaaa", "x.index.yz", "x.index.aa"].slice(0, 2).concat(letterPairs()))).toHaveLength(651);
    const digits = [...Array.from({ length: 90 }, (_, index) => `part_${String(index).padStart(2, "0")}`), "part_9000", "part_9001"];
    expect(await ordered([...digits].reverse())).toEqual(digits);
  });

  it("begins at 0 or 1 and refuses what has no place or belongs elsewhere", async () => {
    expect(await ordered(["a.part2", "a.part1"])).toEqual(["a.part1", "a.part2"]);
    await expect(ordered(["a.part2", "a.part3"])).rejects.toThrow("a.part0, is missing");
    await expect(ordered(["part_0", "other_1"])).rejects.toThrow("is no piece of the same file");
    await expect(ordered(["part_0", "left"])).rejects.toThrow("left: its place among the pieces can't be told");
  });
});

/** x.index.aa to x.index.yy. */
function letterPairs(): string[] {
  const letters = [..."abcdefghijklmnopqrstuvwxyz"];
  return letters
    .slice(0, 25)
    .flatMap((one) => letters.map((other) => `x.index.${one}${other}`))
    .slice(0, -1);
}
