/** Where an output ends. Servers differ: some keep the string that stopped it, most cut it off, few tell which one it was. */

/** The text up to the end of the first stop string in it; undefined: there is none. */
export function endOfFirstStop(text: string, stops: readonly string[]): number | undefined {
  const ends = stops.flatMap((stop) => {
    const at = text.indexOf(stop);
    return at < 0 ? [] : [at + stop.length];
  });
  return ends.length === 0 ? undefined : Math.min(...ends);
}

/** What is known of an output that a server ended with `stop`. */
export interface StoppedText {
  readonly text: string;
  readonly stops: readonly string[];
  /** vLLM's `stop_reason`, SGLang's `matched_stop`: a string, the id of a token, null for the end of the text; undefined: not told. */
  readonly reported: unknown;
  /** Whether it is known that no token for the end of the text was sampled. */
  readonly byString: boolean;
}

/**
 * The stop string that the server cut off the end, or undefined where the text ended by itself. Where the server doesn't tell, it is the
 * closing tag `</x>` among the stop strings whose block `<x>` is the last one open at the end: nothing but that tag would have ended it
 * there, short of a model that stops in the middle of a block.
 */
export function cutStop({ text, stops, reported, byString }: StoppedText): string | undefined {
  if (typeof reported === "string") return stops.find((stop) => stop === reported);
  if (reported !== undefined) return undefined;
  if (byString && stops.length === 1) return stops[0];
  const open = stops.flatMap((stop) => {
    const name = /^<\/([^<>\s]+)>$/.exec(stop)?.[1];
    const at = name === undefined ? -1 : text.lastIndexOf(`<${name}>`);
    return at > text.lastIndexOf(stop) ? [{ stop, at }] : [];
  });
  return open.sort((first, second) => second.at - first.at)[0]?.stop;
}
