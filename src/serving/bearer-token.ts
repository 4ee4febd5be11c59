import { createHash, timingSafeEqual } from "node:crypto";
import { readKey } from "../endpoint/endpoint-address.ts";
import { ConfigError } from "../errors.ts";

/** Whether an Authorization header holds this token; takes equally long for every header of one length. */
export function holdsToken(authorization: string | undefined, token: string): boolean {
  const [, sent = ""] = /^bearer +(\S+) *$/i.exec(authorization ?? "") ?? [];
  return timingSafeEqual(digest(sent), digest(token));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/**
 * The token in an environment variable, outer white space left out.
 * @throws ConfigError when the variable is unset or empty, or holds what no HTTP header may have.
 */
export function readToken(variable: string): string {
  const token = readKey(variable);
  if (token !== undefined) return token;
  throw new ConfigError(
    `serving.tokenVariable: the environment variable ${variable} is not set: put the token into it, or leave the setting out`,
  );
}
