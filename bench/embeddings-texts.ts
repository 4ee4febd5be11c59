/** The texts that `npm run bench -- embeddings` embeds. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { documentText } from "../src/retrieval/corpus/corpus.ts";
import { openCorpus } from "../src/retrieval/corpus/open-corpus.ts";

/** Texts that encoders are easily wrong about: scripts, emoji, odd spaces, next to nothing, spelled-out special tokens. */
const oddTexts = [
  "",
  " ",
  "\n\t",
  "?",
  "a",
  "…",
  "日本の首都は東京です。",
  "北京是中华人民共和国的首都，也是全国的政治中心。",
  "서울은 대한민국의 수도이다.",
  "Москва — столица России.",
  "القاهرة هي عاصمة مصر",
  "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย",
  "🙂🙃 emoji 👩‍👩‍👧‍👦 and flags 🇵🇪🇨🇱",
  "ÉCOLE naïve Ångström Straße ﬁne ½ ①",
  "e\u0301cole (combining accent)",
  "zero\u200bwidth, no\u00a0break, soft\u00adhyphen, \u0000 null, \ufeff mark",
  "[CLS] spelled [SEP] out [MASK] tokens [PAD]",
  "<s> </s> <|endoftext|>",
  "supercalifragilisticexpialidocious".repeat(5),
  "$1,234.56 + 7% = f(x) -> {y: [1, 2]} && don't; #tag @user http://example.org/?a=b",
];

/** The corpus of the shared data where it lies beside the project, else that of the embedded world. */
export function defaultCorpus(): string {
  const shared = fileURLToPath(new URL("../../shared/data/qa/corpus/corpus.jsonl.gz", import.meta.url));
  return existsSync(shared) ? shared : fileURLToPath(new URL("../data/atlas/corpus.jsonl", import.meta.url));
}

/** The first `timed` passages of a corpus, and 200 texts to compare: passages, odd texts, and some longer than any encoder reads. */
export async function benchmarkTexts(corpus: string, timed: number): Promise<{ readonly timed: string[]; readonly compared: string[] }> {
  const passages: string[] = [];
  for await (const { document } of await openCorpus([corpus])) {
    passages.push(documentText(document));
    if (passages.length >= Math.max(timed, 500)) break;
  }
  const long = Array.from({ length: 20 }, (_, index) => passages.slice(index * 10, index * 10 + 8 + index).join(" "));
  const compared = [...oddTexts, ...long, ...passages.slice(220)].slice(0, 200);
  return { timed: passages.slice(0, timed), compared };
}
