import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { fitsHeader } from "../../endpoint/endpoint-address.ts";
import { ConfigError } from "../../errors.ts";

/** Where the Hub is, where its cache lies, and who asks: read from the same environment variables as Python's huggingface_hub. */
export interface HubSettings {
  /** Folder of the cache. */
  readonly cache: string;
  /** Address of the Hub or of a mirror, without a slash at its end. */
  readonly endpoint: string;
  /** Access token; never shown, and sent to `endpoint` alone. */
  readonly token?: string | undefined;
  /** Whether the network must not be used. */
  readonly offline: boolean;
}

/** Values that mean yes, in any case. */
const yes = ["1", "ON", "YES", "TRUE"];

/**
 * Reads `HF_HUB_CACHE`, `HF_HOME`, `XDG_CACHE_HOME`, `HF_ENDPOINT`, `HF_TOKEN`, `HF_TOKEN_PATH`, `HF_HUB_OFFLINE` and
 * `TRANSFORMERS_OFFLINE`. Without `HF_TOKEN` the token is that of `hf auth login`.
 * @throws ConfigError when `HF_ENDPOINT` is no plain http(s) address, or the token can't be read or sent.
 */
export async function hubSettings(environment: NodeJS.ProcessEnv = process.env): Promise<HubSettings> {
  const value = (name: string) => environment[name]?.trim() || undefined;
  const home = atHome(value("HF_HOME") ?? join(value("XDG_CACHE_HOME") ?? "~/.cache", "huggingface"));
  const tokenFile = atHome(value("HF_TOKEN_PATH") ?? join(home, "token"));
  return {
    cache: atHome(value("HF_HUB_CACHE") ?? value("HUGGINGFACE_HUB_CACHE") ?? join(home, "hub")),
    endpoint: endpointOf(value("HF_ENDPOINT")),
    token: sendable(value("HF_TOKEN") ?? value("HUGGING_FACE_HUB_TOKEN"), "HF_TOKEN") ?? sendable(await tokenIn(tokenFile), tokenFile),
    offline: yes.includes((value("HF_HUB_OFFLINE") ?? value("TRANSFORMERS_OFFLINE") ?? "").toUpperCase()),
  };
}

function atHome(path: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
}

function endpointOf(address = "https://huggingface.co"): string {
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) {
    throw new ConfigError(`HF_ENDPOINT: expected the address of a Hub, e.g. https://huggingface.co, got ${JSON.stringify(address)}`);
  }
  const { username, password, search, hash } = new URL(address);
  if (username !== "" || password !== "") throw new ConfigError("HF_ENDPOINT: leave user and password out; HF_TOKEN is for secrets");
  if (search !== "" || hash !== "") throw new ConfigError("HF_ENDPOINT: leave ? and # out, e.g. https://huggingface.co");
  return address.replace(/\/+$/, "");
}

function sendable(token: string | undefined, place: string): string | undefined {
  if (token === undefined || fitsHeader(token)) return token;
  throw new ConfigError(`${place}: the Hub's token holds white space or other characters that no HTTP header may have: correct it`);
}

async function tokenIn(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, "utf8")).trim() || undefined;
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw new ConfigError(`${file}: the Hub's token can't be read (${(error as Error).message}): correct the file, or set HF_TOKEN`, {
      cause: error,
    });
  }
}
