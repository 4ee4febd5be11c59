/** Where a server is and what opens it: checked before the first request. */
import { ConfigError } from "../errors.ts";

/**
 * The base address of an OpenAI-compatible server, without a slash at its end. A path of the API that was pasted with it is taken off.
 * @param section The configuration's section, named in errors: its keys are `url` and `apiKeyVariable`.
 * @throws ConfigError for anything but a plain http(s) address.
 */
export function baseAddress(url: string | undefined, section: string): string {
  const example = "e.g. http://127.0.0.1:8080/v1";
  if (url === undefined || !URL.canParse(url))
    throw new ConfigError(`${section}.url: expected an address, ${example}, got ${url ?? "none"}`);
  const address = new URL(url);
  if (address.protocol !== "http:" && address.protocol !== "https:")
    throw new ConfigError(`${section}.url: expected http:// or https://, ${example}, got ${address.protocol}//`);
  if (address.username !== "" || address.password !== "")
    throw new ConfigError(`${section}.url: leave user and password out; ${section}.apiKeyVariable is for secrets`);
  if (address.search !== "" || address.hash !== "") throw new ConfigError(`${section}.url: leave ? and # out, ${example}`);
  address.pathname = address.pathname.replace(/\/+$/, "").replace(/\/(embeddings|chat\/completions|completions|models)$/, "");
  return address.href.replace(/\/$/, "");
}

/**
 * The key in an environment variable; undefined: there is none.
 * @throws ConfigError for a key that no header may hold.
 */
export function readKey(variable: string): string | undefined {
  const key = process.env[variable]?.trim();
  if (key === undefined || key === "") return undefined;
  if (!fitsHeader(key))
    throw new ConfigError(`the key in the environment variable ${variable} holds characters that no HTTP header may have`);
  return key;
}

/** Whether an HTTP header may hold this secret. One that it may not would show in the error of the client that tried. */
export function fitsHeader(secret: string): boolean {
  return /^[\x21-\x7e]+$/.test(secret);
}
