import { ConfigError } from "../../errors.ts";

type Json = Readonly<Record<string, unknown>>;

/** Models that count positions from the padding id, 1, onwards: two of their positions hold no token. */
const shiftedPositions = ["roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "mpnet", "longformer"];

/**
 * The longest input in tokens: what is asked for, else what sentence-transformers (`lengths`) or the tokenizer states, at most the model's positions;
 * 512 where none of them says anything.
 * @throws ConfigError where more is asked for than the model has positions.
 */
export function longestInput(
  asked: number | undefined,
  lengths: Json,
  tokenizer: Json | undefined,
  transformer: Json | undefined,
  folder: string,
): number {
  const held = transformer?.["max_position_embeddings"];
  const shift = shiftedPositions.includes(String(transformer?.["model_type"])) ? 2 : 0;
  const positions = typeof held === "number" && held > shift ? held - shift : Number.POSITIVE_INFINITY;
  if (asked !== undefined && asked > positions) {
    throw new ConfigError(`retrieval.embedder.maxTokens: ${asked} is more than the ${positions} positions of the model in ${folder}`);
  }
  if (asked !== undefined) return asked;
  const stated = [lengths["max_seq_length"], tokenizer?.["model_max_length"]].find(
    // Tokenizers without a limit say 1e30.
    (value): value is number => typeof value === "number" && value > 0 && value < 1e9,
  );
  const longest = Math.min(stated ?? Number.POSITIVE_INFINITY, positions);
  return Number.isFinite(longest) ? longest : 512;
}
