/** Every leaf in which two plain values differ, as `path: old in the run, new now`. */
export function differences(before: unknown, now: unknown, path: string): string[] {
  if (isPlainObject(before) && isPlainObject(now)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(now)])].sort();
    return keys.flatMap((key) =>
      differences(before[key], now[key], path === "" || path.endsWith(" ") ? `${path}${key}` : `${path}.${key}`),
    );
  }
  const [old, current] = [JSON.stringify(before), JSON.stringify(now)];
  return old === current ? [] : [`${path}: ${old ?? "absent"} in the run, ${current ?? "absent"} now`];
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
