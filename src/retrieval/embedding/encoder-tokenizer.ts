import { Tokenizer } from "@huggingface/tokenizers";
import { ModelError } from "../../errors.ts";
import { readJsonObject } from "../../files/json-file.ts";

/** Turns texts into the ids that an encoder reads. Special tokens that a text spells out count as such, as in sentence-transformers. */
export class EncoderTokenizer {
  /** Special tokens that stand before and after every text. */
  private readonly before: readonly number[];
  private readonly after: readonly number[];
  readonly padTokenId: number | undefined;

  private constructor(
    private readonly tokenizer: Tokenizer,
    padToken: unknown,
    file: string,
  ) {
    const ids = (text: string, special: boolean): readonly number[] => tokenizer.encode(text, { add_special_tokens: special }).ids;
    const [plain, full] = [ids("a", false), ids("a", true)];
    const start = full.findIndex((_, index) => plain.every((id, offset) => full[index + offset] === id));
    if (start === -1) throw new ModelError(`${file}: special tokens within a text are not supported`);
    this.before = full.slice(0, start);
    this.after = full.slice(start + plain.length);
    this.padTokenId = typeof padToken === "string" ? tokenizer.token_to_id(padToken) : undefined;
  }

  /** @throws ModelError when the tokenizer can't be read. */
  static async open(file: string, configFile: string | undefined): Promise<EncoderTokenizer> {
    const json = await readJsonObject(file);
    const config = configFile === undefined ? {} : await readJsonObject(configFile);
    const padToken = config["pad_token"];
    try {
      const tokenizer = new Tokenizer(json, config);
      return new EncoderTokenizer(
        tokenizer,
        typeof padToken === "object" ? (padToken as { content?: unknown } | null)?.content : padToken,
        file,
      );
    } catch (error) {
      if (error instanceof ModelError) throw error;
      throw new ModelError(`${file} can't be used: ${(error as Error).message}`, { cause: error });
    }
  }

  /** How many special tokens every text gets. */
  get specialTokens(): number {
    return this.before.length + this.after.length;
  }

  /** Ids of a text, special ones included; cut to `maxTokens` so that the special ones stay. */
  encode(text: string, maxTokens: number): { readonly ids: readonly number[]; readonly truncated: boolean } {
    const { ids } = this.tokenizer.encode(text, { add_special_tokens: false });
    const room = Math.max(0, maxTokens - this.specialTokens);
    return { ids: [...this.before, ...(ids.length > room ? ids.slice(0, room) : ids), ...this.after], truncated: ids.length > room };
  }
}
