/** What every reader of foreign JSON needs: whether a value is an object, and how to show one that is something else. */

/** Whether a value is a JSON object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value as short JSON, for messages; also what JSON itself has no words for (undefined, big integers, cycles, a nesting too deep). */
export function shown(value: unknown, longest = 120): string {
  let text: string;
  try {
    text = JSON.stringify(value, (_, inner: unknown) => (typeof inner === "bigint" ? String(inner) : inner)) ?? "nothing";
  } catch {
    return "a deeply nested value";
  }
  return text.length > longest ? `${text.slice(0, longest)}...` : text;
}
