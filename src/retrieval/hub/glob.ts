import { ConfigError } from "../../errors.ts";
import type { PullRequest } from "./pull-request.ts";

/**
 * Whether a path matches a pattern of `*`, `?` and `[...]`. `across`: `*` also crosses `/`, as in huggingface_hub and `hf download
 * --include`; otherwise only `**` does, as in a shell. A pattern that ends with `/` means all below that folder.
 * @throws ConfigError for a range that runs backwards, e.g. `[z-a]`.
 */
export function globMatcher(pattern: string, { across }: { readonly across: boolean }): (path: string) => boolean {
  const whole = pattern.endsWith("/") ? `${pattern}**` : pattern;
  const inside = across ? "." : "[^/]";
  const source = whole.replace(/\*\*\/|\*+|\?|\[[^\]/]+\]|[^*?[]+|\[/g, (part) => {
    if (part === "**/" && !across) return "(?:.*/)?";
    if (part.startsWith("**")) return ".*";
    if (part === "*") return `${inside}*`;
    if (part === "?") return inside;
    if (part.startsWith("[") && part.length > 1) return part.replaceAll("\\", "\\\\").replace(/^\[!/, "[^");
    return part.replace(/[.+^${}()|[\]\\]/g, "\\$&");
  });
  const expression = expressionOf(source, pattern);
  return (path) => expression.test(path);
}

/** Tests of which a wanted file passes one; undefined when no files are named. */
export function fileTests(wanted: PullRequest["files"]): ((path: string) => boolean)[] | undefined {
  if (wanted === undefined || wanted.length === 0) return undefined;
  return typeof wanted === "function" ? [wanted] : wanted.map((pattern) => globMatcher(pattern, { across: true }));
}

function expressionOf(source: string, pattern: string): RegExp {
  try {
    return new RegExp(`^${source}$`, "s");
  } catch (error) {
    throw new ConfigError(`pattern ${JSON.stringify(pattern)}: correct the range in its brackets`, { cause: error });
  }
}

/** Whether a path has to be matched rather than taken literally. */
export function isGlob(path: string): boolean {
  return /[*?[]/.test(path);
}
