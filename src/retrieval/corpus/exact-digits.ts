/** Strings, structure, and everything else (numbers, true, false, null) of valid JSON. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]|[^\s"{}[\]:,]+/g;

/**
 * The digits of a whole number in a JSON object, as they are written there, for numbers that `JSON.parse` would round (beyond 2^53).
 * `text` is valid JSON of an object. Undefined where the top-level field is not an integer written in digits alone.
 */
export function exactDigits(text: string, field: string): string | undefined {
  let depth = 0;
  let key: string | undefined;
  let digits: string | undefined;
  let previous = "";
  for (const [token] of text.matchAll(tokens)) {
    if (token === "{" || token === "[") depth++;
    else if (token === "}" || token === "]") depth--;
    else if (depth === 1 && token === ":") key = JSON.parse(previous) as string;
    else if (depth === 1 && token === ",") key = undefined;
    // The last of several equal keys counts, as in JSON.parse.
    else if (depth === 1 && key === field) digits = /^-?\d+$/.test(token) ? token : undefined;
    previous = token;
  }
  return digits;
}
