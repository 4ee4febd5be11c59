/** The parts of a byte-level BPE `tokenizer.json`, with every field that readers of the format expect. */

/** An entry of `added_tokens`: never merged, found in text as it is spelled. */
export function addedToken(id: number, content: string, special: boolean) {
  return { id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special };
}

/** The ByteLevel step, as pre-tokenizer or decoder. */
export function byteLevel(addPrefixSpace: boolean, useRegex = true) {
  return { type: "ByteLevel", add_prefix_space: addPrefixSpace, trim_offsets: true, use_regex: useRegex };
}

/** What is learnt: pieces with their ids, and the merges in order. `ignoreMerges`: a whole word that is a piece is taken as it is. */
export function bpeModel<Merge>(vocab: Readonly<Record<string, number>>, merges: readonly Merge[], ignoreMerges = false) {
  return {
    type: "BPE",
    dropout: null,
    unk_token: null,
    continuing_subword_prefix: null,
    end_of_word_suffix: null,
    fuse_unk: false,
    byte_fallback: false,
    ignore_merges: ignoreMerges,
    vocab,
    merges,
  };
}
