/** The known name closest to a mistyped one, when it is close enough to be meant; otherwise undefined. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** ` (did you mean X?)`, or nothing. */
export function suggestion(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  return meant === undefined ? "" : ` (did you mean ${meant}?)`;
}

/** Levenshtein distance. */
function editDistance(first: string, second: string): number {
  let row = Array.from({ length: second.length + 1 }, (_, index) => index);
  for (let index = 1; index <= first.length; index++) {
    const next = [index];
    for (let other = 1; other <= second.length; other++) {
      const replaced = (row[other - 1] as number) + (first[index - 1] === second[other - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[other] as number) + 1, (next[other - 1] as number) + 1));
    }
    row = next;
  }
  return row[second.length] as number;
}
