/**
 * Whether a path matches a pattern of `*`, `?` and `[...]`. `across`: `*` also crosses `/`, as in huggingface_hub and `hf download
 * --include`; otherwise only `**` does, as in a shell. A pattern that ends with `/` means all below that folder.
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
  const expression = new RegExp(`^${source}$`, "s");
  return (path) => expression.test(path);
}

/** Whether a path has to be matched rather than taken literally. */
export function isGlob(path: string): boolean {
  return /[*?[]/.test(path);
}
