/**
 * Porter's stemmer (M. F. Porter, An algorithm for suffix stripping, Program 14(3), 1980), without later departures. Words are lowercase; what
 * isn't made of the letters a to z comes back as it is.
 */
export function stem(word: string): string {
  if (word.length <= 2 || !/^[a-z]+$/.test(word)) return word;
  return [plural, pastOrGerund, finalY, longSuffix, mediumSuffix, shortSuffix, finalE].reduce((rest, step) => step(rest), word);
}

/** Consonants as c, vowels as v: y is a vowel after a consonant. */
function letterKinds(text: string): string {
  let kinds = "";
  for (const letter of text) {
    const vowel = "aeiou".includes(letter) || (letter === "y" && kinds.endsWith("c"));
    kinds += vowel ? "v" : "c";
  }
  return kinds;
}

/** The paper's m: how often consonants follow vowels. */
function measure(text: string): number {
  return letterKinds(text).match(/v+c+/g)?.length ?? 0;
}

function hasVowel(text: string): boolean {
  return letterKinds(text).includes("v");
}

function endsInDouble(text: string): boolean {
  return text.length >= 2 && text.at(-1) === text.at(-2) && letterKinds(text).endsWith("c");
}

/** The paper's *o: consonant, vowel, consonant at the end, the last not w, x or y. */
function endsShort(text: string): boolean {
  return letterKinds(text).endsWith("cvc") && !/[wxy]$/.test(text);
}

/** Replaces the longest ending that the word has, if what stands before it allows. */
function replaceSuffix(
  word: string,
  endings: readonly (readonly [ending: string, replacement: string])[],
  allows: (before: string, ending: string) => boolean,
): string {
  const found = endings.filter(([ending]) => word.endsWith(ending)).sort(([left], [right]) => right.length - left.length)[0];
  if (found === undefined) return word;
  const before = word.slice(0, word.length - found[0].length);
  return allows(before, found[0]) ? before + found[1] : word;
}

/** Step 1a. */
function plural(word: string): string {
  const endings = [
    ["sses", "ss"],
    ["ies", "i"],
    ["ss", "ss"],
    ["s", ""],
  ] as const;
  return replaceSuffix(word, endings, () => true);
}

/** Step 1b. */
function pastOrGerund(word: string): string {
  if (word.endsWith("eed")) return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word;
  const rest = word.replace(/(ed|ing)$/, "");
  if (rest === word || !hasVowel(rest)) return word;
  if (/(at|bl|iz)$/.test(rest)) return `${rest}e`;
  if (endsInDouble(rest) && !/[lsz]$/.test(rest)) return rest.slice(0, -1);
  return measure(rest) === 1 && endsShort(rest) ? `${rest}e` : rest;
}

/** Step 1c. */
function finalY(word: string): string {
  return word.endsWith("y") && hasVowel(word.slice(0, -1)) ? `${word.slice(0, -1)}i` : word;
}

function pairs(text: string): readonly (readonly [string, string])[] {
  return text.split(" ").map((pair) => pair.split(":") as [string, string]);
}

const longEndings = pairs(
  "ational:ate tional:tion enci:ence anci:ance izer:ize abli:able alli:al entli:ent eli:e ousli:ous ization:ize ation:ate ator:ate " +
    "alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble",
);
const mediumEndings = pairs("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:");
const shortEndings = pairs("al: ance: ence: er: ic: able: ible: ant: ement: ment: ent: ion: ou: ism: ate: iti: ous: ive: ize:");

/** Step 2. */
function longSuffix(word: string): string {
  return replaceSuffix(word, longEndings, (before) => measure(before) > 0);
}

/** Step 3. */
function mediumSuffix(word: string): string {
  return replaceSuffix(word, mediumEndings, (before) => measure(before) > 0);
}

/** Step 4. */
function shortSuffix(word: string): string {
  return replaceSuffix(word, shortEndings, (before, ending) => measure(before) > 1 && (ending !== "ion" || /[st]$/.test(before)));
}

/** Step 5. */
function finalE(word: string): string {
  let rest = word;
  if (rest.endsWith("e")) {
    const before = rest.slice(0, -1);
    if (measure(before) > 1 || (measure(before) === 1 && !endsShort(before))) rest = before;
  }
  return rest.endsWith("ll") && measure(rest) > 1 ? rest.slice(0, -1) : rest;
}
