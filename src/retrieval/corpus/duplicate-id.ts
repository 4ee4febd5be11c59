import { shown } from "../../json-values.ts";
import type { Place } from "./corpus-stream.ts";

/** Why a passage at `place` can't be used whose id was given to the one at `earlier` before. */
export function duplicateReason(id: string, earlier: Place, place: Place): string {
  return `id ${shown(id)} is already used in ${where(earlier, place)}: ids must be unique`;
}

function where(earlier: Place, place: Place): string {
  if (earlier.file === place.file) return earlier.line === undefined ? "the same file" : `line ${earlier.line}`;
  return earlier.line === undefined ? earlier.file : `${earlier.file}:${earlier.line}`;
}
