/** What can go wrong with one request to a retrieval server, and what to do about it. */
import { retryAfterSeconds } from "../../endpoint/retry-after.ts";

/**
 * `unreachable`: no connection or no answer in time; `busy`: the server asks to come back later; `failing`: it answered 5xx, perhaps for one
 * of the queries; `refused`: it does not accept these queries; `unusable`: any server of this address would do the same again.
 */
export type FailureKind = "unreachable" | "busy" | "failing" | "refused" | "unusable";

/** One failed request. The message gives the reason alone; address and attempts are added where it becomes final. */
export class RetrieveFailure extends Error {
  override readonly name = "RetrieveFailure";
  constructor(
    readonly kind: FailureKind,
    message: string,
    /** What the server's Retry-After asks for. */
    readonly waitSeconds = 0,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  /** Whether the same request may succeed later. */
  get isTransient(): boolean {
    return this.kind === "unreachable" || this.kind === "busy" || this.kind === "failing";
  }

  /** Whether one of several queries may be at fault. */
  get mayBeOneQuery(): boolean {
    return this.kind === "failing" || this.kind === "refused";
  }
}

/** Longest wait that a server may ask for. */
const mostWaitSeconds = 60;

/** What to do where a status says more than its number. */
const fixes: Readonly<Record<number, string>> = {
  401: "give the server's token (retrieval.remote.tokenVariable names the environment variable that holds it)",
  403: "the token has no access to this server",
  404: "retrieval.remote.url is no retrieval server: name its address without a path, e.g. http://127.0.0.1:8000",
  405: "retrieval.remote.url is no retrieval server: name its address without a path, e.g. http://127.0.0.1:8000",
};

/** The failure that an answer other than 200 stands for. `body` is its text. */
export function failureOf(status: number, retryAfter: string | null, body: string): RetrieveFailure {
  const fix = fixes[status];
  const reason = [`answered ${status}`, reasonIn(body), fix].filter((part) => part !== undefined && part !== "").join(": ");
  return new RetrieveFailure(kindOf(status), reason, retryAfterSeconds(retryAfter, mostWaitSeconds));
}

function kindOf(status: number): FailureKind {
  if ([408, 425, 429, 503, 504].includes(status)) return "busy";
  if (status >= 500) return "failing";
  return [400, 413, 422].includes(status) ? "refused" : "unusable";
}

/** `{error}` as our server answers, `{detail}` as FastAPI does, or the text. */
function reasonIn(body: string): string {
  let reason: unknown = body;
  try {
    const { error, detail } = JSON.parse(body) as { error?: unknown; detail?: unknown };
    reason = error ?? detail ?? body;
  } catch {
    // Not JSON: the text is the reason.
  }
  const text = (typeof reason === "string" ? reason : JSON.stringify(reason)).replace(/\s+/g, " ").trim();
  return text.length > 300 ? `${text.slice(0, 300)}...` : text;
}

/** Why `fetch` rejected. */
export function connectionFailure(error: unknown): RetrieveFailure {
  const { cause = error } = error as { cause?: unknown };
  const [first] = (cause as { errors?: unknown[] }).errors ?? [cause];
  const { code, message } = first as { code?: string; message?: string };
  const reason = message === undefined || message === "" ? (code ?? String(first)) : message;
  return new RetrieveFailure("unreachable", `no connection (${reason})`, 0, { cause: error });
}
