const flat = "only IndexFlatIP and IndexFlatL2 can be read";

const rebuild =
  "make a flat index of it with faiss: `i = faiss.read_index(FILE); f = faiss.IndexFlat(i.d, i.metric_type); f.add(i.reconstruct_n(0, i.ntotal)); faiss.write_index(f, NEW)`";
const lossy = `${rebuild} (its vectors are compressed: embedding the corpus again is more exact)`;

/** Kinds of index by the first letters of their code, the longest first. */
const kinds: readonly (readonly [prefix: string, kind: string, advice: string])[] = [
  [
    "IxMp",
    "an IndexIDMap",
    "if its ids are the rows of the corpus (0, 1, 2 ...), write what is in it: `faiss.write_index(faiss.read_index(FILE).index, NEW)`",
  ],
  [
    "IxM2",
    "an IndexIDMap2",
    "if its ids are the rows of the corpus (0, 1, 2 ...), write what is in it: `faiss.write_index(faiss.read_index(FILE).index, NEW)`",
  ],
  ["IwFl", "an inverted file (IVF) of whole vectors", rebuild.replace("f = ", "i.make_direct_map(); f = ")],
  ["Iw", "an inverted file (IVF)", lossy.replace("f = ", "i.make_direct_map(); f = ")],
  ["Iv", "an inverted file (IVF)", lossy.replace("f = ", "i.make_direct_map(); f = ")],
  ["IHNf", "an HNSW graph over whole vectors", "write its vectors alone: `faiss.write_index(faiss.read_index(FILE).storage, NEW)`"],
  ["IHN", "an HNSW graph", lossy],
  ["IxPq", "an IndexPQ", lossy],
  ["IxSQ", "an IndexScalarQuantizer", lossy],
  ["IxPT", "an IndexPreTransform", rebuild],
  ["IxRF", "an IndexRefineFlat", "write the vectors that it refines with: `faiss.write_index(faiss.read_index(FILE).refine_index, NEW)`"],
  ["IB", "an index of binary vectors", "embed the corpus with a model of float vectors"],
  ["Ix", "another kind of FAISS index", rebuild],
  ["I", "another kind of FAISS index", rebuild],
];

/** Why a file that begins with these four characters is refused, and what to do. */
export function refusal(letters: string): string {
  if (letters.startsWith("\x1f\x8b")) return `is a gzip archive: unpack it first (gunzip); ${flat}`;
  const [, kind, advice] = (/^[\x20-\x7e]{4}$/.test(letters) && kinds.find(([prefix]) => letters.startsWith(prefix))) || [];
  if (kind === undefined) {
    const bytes = Buffer.from(letters, "latin1").toString("hex");
    return `is no FAISS index: it begins with bytes ${bytes}, not with the letters IxFI or IxF2; check the path, and name all pieces of a file in pieces`;
  }
  return `is ${kind} (${letters}): ${flat}; ${advice}`;
}
