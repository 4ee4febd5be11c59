/** What can go wrong with a request to the Hub, and what to do about it. */
import { retryAfterSeconds } from "../../endpoint/retry-after.ts";
import { described, type Repository } from "./repository.ts";
import type { HubSettings } from "./settings.ts";

/** One failed request. */
export class HubFailure extends Error {
  override readonly name = "HubFailure";
  constructor(
    message: string,
    readonly about: {
      /** Whether the same request may succeed later. */
      readonly isTransient: boolean;
      /** Whether there is no such repository, as far as this user may know. */
      readonly isAbsent?: boolean;
      /** Seconds that the Hub asks to wait. */
      readonly waitSeconds?: number;
    },
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Longest wait that the Hub may ask for. */
const mostWaitSeconds = 120;

/** The failure that an answer stands for. The Hub names its reason in `X-Error-Code`: https://huggingface.co/docs/hub/api */
export async function failureOf(response: Response, repository: Repository, settings: HubSettings): Promise<HubFailure> {
  const { status, headers } = response;
  const code = headers.get("x-error-code") ?? "";
  const reason = hidden(headers.get("x-error-message") ?? reasonIn(await response.text().catch(() => "")), settings.token);
  const what = described(repository);
  const permanent = (message: string, isAbsent = false) => new HubFailure(message, { isTransient: false, isAbsent });
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    const limit = status === 429 && settings.token === undefined ? " (requests with a token, HF_TOKEN, have a higher limit)" : "";
    const message = `${settings.endpoint} answered ${status}${reason === "" ? "" : `: ${reason}`}${limit}`;
    return new HubFailure(message, { isTransient: true, waitSeconds: retryAfterSeconds(headers.get("retry-after"), mostWaitSeconds) });
  }
  if (code === "GatedRepo" || (status === 403 && /gated|restricted/i.test(reason))) {
    const login = settings.token === undefined ? "then set HF_TOKEN" : "with the account whose token is set";
    return permanent(`${what} is gated: accept its terms at ${pageOf(repository, settings)}, ${login} (${reason || status})`);
  }
  if (code === "RevisionNotFound") {
    return permanent(`${what}: there is no such revision at ${pageOf(repository, settings)}: name a branch, a tag or a commit`);
  }
  if (code === "EntryNotFound") return permanent(`${what}: ${new URL(response.url).pathname} is not there any more: pull again`);
  if (status === 401 && settings.token !== undefined && code !== "RepoNotFound") {
    return permanent(`${settings.endpoint} refused the token (${reason || status}): correct HF_TOKEN, or log in again`);
  }
  if (status === 401 || status === 404) {
    const kind = repository.kind === "model" ? "check the name; a data set needs --dataset or hf://datasets/" : "check the name";
    const token = settings.token === undefined ? "; a private one needs HF_TOKEN" : "; a private one needs a token with access to it";
    return permanent(`${settings.endpoint} has no ${what}: ${kind}${token}`, true);
  }
  if (status === 403) return permanent(`the token has no access to ${what} (${reason || status}): let it read this repository`);
  return permanent(`${settings.endpoint} answered ${status} for ${what}${reason === "" ? "" : `: ${reason}`}`);
}

/** Why `fetch`, or the reading of its answer, failed. */
export function connectionFailure(error: unknown, { endpoint, token }: HubSettings): HubFailure {
  const { cause = error } = error as { cause?: unknown };
  const [first] = (cause as { errors?: unknown[] }).errors ?? [cause];
  const { code, message } = first as { code?: string; message?: string };
  const reason = hidden(message || code || String(first), token);
  return new HubFailure(`no connection to ${endpoint} (${reason})`, { isTransient: true }, { cause: error });
}

function pageOf({ kind, name }: Repository, { endpoint }: HubSettings): string {
  return `${endpoint}/${kind === "dataset" ? "datasets/" : ""}${name}`;
}

function reasonIn(body: string): string {
  let reason = body.trimStart().startsWith("<") ? "" : body;
  try {
    reason = String((JSON.parse(body) as { error?: unknown }).error ?? body);
  } catch {
    // No JSON: the text is the reason.
  }
  return reason.replace(/\s+/g, " ").trim().slice(0, 200);
}

function hidden(text: string, token: string | undefined): string {
  return token === undefined ? text : text.replaceAll(token, "***");
}
