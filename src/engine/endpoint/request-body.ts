/** What is asked of a server, and what is left out or renamed once it has refused a parameter. */
import type { EndpointFailure } from "../../endpoint/endpoint-failure.ts";

/** A request's JSON. */
export type RequestBody = Readonly<Record<string, unknown>>;

/** Parameters that an answer can do without, the less common first: a message that names several is about the first of them. */
const dispensable = [
  "include_stop_str_in_output",
  "no_stop_trim",
  "skip_special_tokens",
  "return_token_ids",
  "return_tokens_as_token_ids",
  "stop_token_ids",
  "logprobs",
  "seed",
  "stop",
  "top_p",
  "temperature",
] as const;

/** Those whose absence may change what is sampled. */
const missed: ReadonlySet<string> = new Set(["seed", "top_p", "temperature"]);

/** Words that refuse a parameter as such, not a value of it. */
const refusal =
  /unsupported|not support|unknown|unrecogni[sz]ed|not permitted|not allowed|not implemented|extra |unexpected|invalid (parameter|argument|field)/i;

/** A server's habits, learned from its refusals: each costs one request, the first that meets it. */
export class RefusedParameters {
  private readonly refused = new Set<string>();
  private renamesMaxTokens = false;

  /** The body as this server takes it. */
  fit(body: RequestBody): RequestBody {
    const kept = Object.entries(body).filter(([name]) => !this.refused.has(name));
    return Object.fromEntries(
      kept.map(([name, value]) => [this.renamesMaxTokens && name === "max_tokens" ? "max_completion_tokens" : name, value]),
    );
  }

  /** @param onNotice Told once of every parameter left out from now on that outputs may depend on. */
  constructor(private readonly onNotice: (message: string) => void = () => undefined) {}

  /** Whether the failure refuses a parameter that `body`, as it was sent, holds; it is then left out from now on. */
  learn(failure: EndpointFailure, body: RequestBody): boolean {
    if ((failure.status !== 400 && failure.status !== 422) || !refusal.test(failure.message)) return false;
    const names = (name: string) => new RegExp(`(?<![A-Za-z0-9_])${name}(?![A-Za-z0-9_])`).test(failure.message);
    const named = dispensable.find((name) => name in body && names(name));
    // Said of it by OpenAI: "Unsupported parameter: 'max_tokens' ... Use 'max_completion_tokens' instead."
    if ("max_tokens" in body && names("max_completion_tokens") && names("max_tokens")) {
      this.renamesMaxTokens = true;
      return true;
    }
    // Some forbid what they don't know without a word on what that was.
    const isUnnamed = !["max_tokens", ...dispensable].some(names);
    const extras = isUnnamed ? dispensable.slice(0, dispensable.indexOf("logprobs")).filter((name) => name in body) : [];
    const left = named === undefined ? extras : [named];
    for (const name of left) {
      if (!this.refused.has(name) && missed.has(name)) this.onNotice(`the server takes no ${name}: requests go without it`);
      this.refused.add(name);
    }
    return left.length > 0;
  }
}
