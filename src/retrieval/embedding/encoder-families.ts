/** What is known of encoders whose own files often don't say it: ONNX conversions leave out the files of sentence-transformers. */

/** How texts of one family of models are prefixed and pooled. Sources: the models' cards on the Hugging Face Hub. */
export interface EncoderFamily {
  readonly queryPrefix: string;
  readonly documentPrefix: string;
  readonly pooling: "mean" | "cls" | "last";
}

const instruction = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ";
const englishInstruction = "Represent this sentence for searching relevant passages: ";

/** The first pattern that matches the last part of a model's name decides. */
const families: readonly (readonly [RegExp, EncoderFamily])[] = [
  [/e5-mistral/i, { queryPrefix: instruction, documentPrefix: "", pooling: "last" }],
  [/\be5\b.*instruct/i, { queryPrefix: instruction, documentPrefix: "", pooling: "mean" }],
  [/\be5\b/i, { queryPrefix: "query: ", documentPrefix: "passage: ", pooling: "mean" }],
  [/^bge-m3/i, { queryPrefix: "", documentPrefix: "", pooling: "cls" }],
  [/^bge-.*-zh/i, { queryPrefix: "为这个句子生成表示以用于检索相关文章：", documentPrefix: "", pooling: "cls" }],
  [/^bge-/i, { queryPrefix: englishInstruction, documentPrefix: "", pooling: "cls" }],
  [/^mxbai-embed/i, { queryPrefix: englishInstruction, documentPrefix: "", pooling: "cls" }],
  [/^snowflake-arctic-embed.*v2/i, { queryPrefix: "query: ", documentPrefix: "", pooling: "cls" }],
  [/^snowflake-arctic-embed/i, { queryPrefix: englishInstruction, documentPrefix: "", pooling: "cls" }],
  [/^nomic-embed-text/i, { queryPrefix: "search_query: ", documentPrefix: "search_document: ", pooling: "mean" }],
  [/^gte-qwen|^qwen3-embedding/i, { queryPrefix: instruction, documentPrefix: "", pooling: "last" }],
  [/^gte-.*-v1\.5|^gte-multilingual/i, { queryPrefix: "", documentPrefix: "", pooling: "cls" }],
];

/** Mean pooling without prefixes: what sentence-transformers does with a model that says nothing. */
const unknownFamily: EncoderFamily = { queryPrefix: "", documentPrefix: "", pooling: "mean" };

/** @param model A model's name or folder, e.g. `intfloat/e5-base-v2`; its last part counts. */
export function encoderFamily(model: string): EncoderFamily {
  const name = model.split("/").at(-1) ?? "";
  // Underscores are letters to \b.
  return families.find(([pattern]) => pattern.test(name.replaceAll("_", "-")))?.[1] ?? unknownFamily;
}

/** A text with its prefix, which is never doubled. */
export function prefixed(prefix: string, text: string): string {
  return text.startsWith(prefix) ? text : prefix + text;
}
