/** Draws one token from a row of next-token probabilities. */
import type { Rng } from "../../rng.ts";
import type { AllowedTokens } from "./allowed-tokens.ts";

/** How a token is drawn. */
export interface ChoiceOptions {
  readonly rng: Rng;
  /** Take the most probable allowed token; nothing is drawn. */
  readonly greedy: boolean;
  /** Nucleus mass in (0, 1]. */
  readonly topP: number;
  /** What a grammar allows; absent: everything. */
  readonly allowed?: AllowedTokens;
}

/** A drawn token. */
export interface Choice {
  readonly token: number;
  /** Log-probability under the distribution renormalised over the allowed tokens, before the nucleus is cut. */
  readonly logprob: number;
}

/**
 * Chooses by inverse CDF on float64 sums in token order: one uniform number a token, whatever else is in the batch. Row
 * `row` of `probabilities` [rows, size] is read; it is changed only in passing.
 */
export function chooseToken(probabilities: Float32Array, row: number, size: number, options: ChoiceOptions): Choice | undefined {
  const start = row * size;
  const { allowed, forbidden } = options.allowed ?? {};
  if (allowed !== undefined) return chooseAmong(probabilities, start, allowed, options);
  if (forbidden === undefined) return chooseFromAll(probabilities, start, size, 1, options);
  if (saved.length < forbidden.length) saved = new Float32Array(forbidden.length);
  for (let index = 0; index < forbidden.length; index++) {
    const place = start + (forbidden[index] as number);
    saved[index] = probabilities[place] as number;
    probabilities[place] = 0;
  }
  let total = 0;
  for (let place = start; place < start + size; place++) total += probabilities[place] as number;
  const choice = chooseFromAll(probabilities, start, size, total, options);
  for (let index = 0; index < forbidden.length; index++) probabilities[start + (forbidden[index] as number)] = saved[index] as number;
  return choice;
}

/** Probabilities of forbidden tokens while a choice is made. */
let saved = new Float32Array(64);

/** Softmax underflows to 0 below about exp(-87): where nothing allowed has any mass left, this is what is reported. */
const smallestLogprob = -87;

function chooseFromAll(
  probabilities: Float32Array,
  start: number,
  size: number,
  total: number,
  options: ChoiceOptions,
): Choice | undefined {
  const end = start + size;
  let chosen = -1;
  if (options.greedy) {
    let best = 0;
    for (let place = start; place < end; place++) {
      if ((probabilities[place] as number) > best) {
        best = probabilities[place] as number;
        chosen = place;
      }
    }
  } else if (options.topP < 1) {
    const candidates: number[] = [];
    const negligible = ((1 - options.topP) * total) / size;
    for (let place = start; place < end; place++) if ((probabilities[place] as number) > negligible) candidates.push(place);
    chosen = chooseFromNucleus(probabilities, candidates, total, options);
  } else {
    const target = options.rng.uniform() * total;
    let sum = 0;
    for (let place = start; place < end; place++) {
      const probability = probabilities[place] as number;
      if (!(probability > 0)) continue;
      sum += probability;
      // Rounding can leave the whole sum just below the target: then it is the last token with any mass.
      chosen = place;
      if (sum > target) break;
    }
  }
  return chosen < 0 ? undefined : { token: chosen - start, logprob: Math.min(0, Math.log((probabilities[chosen] as number) / total)) };
}

function chooseAmong(probabilities: Float32Array, start: number, allowed: Int32Array, options: ChoiceOptions): Choice | undefined {
  if (allowed.length === 0) return undefined;
  let total = 0;
  for (let index = 0; index < allowed.length; index++) total += probabilities[start + (allowed[index] as number)] as number;
  if (Number.isNaN(total)) return undefined;
  if (total === 0) return { token: allowed[0] as number, logprob: smallestLogprob };
  let chosen = -1;
  if (options.greedy || options.topP < 1) {
    const places = Array.from(allowed, (token) => start + token);
    if (options.greedy)
      chosen = places.reduce((best, place) => ((probabilities[place] as number) > (probabilities[best] as number) ? place : best));
    else chosen = chooseFromNucleus(probabilities, places, total, options);
  } else {
    const target = options.rng.uniform() * total;
    let sum = 0;
    for (let index = 0; index < allowed.length; index++) {
      const place = start + (allowed[index] as number);
      if (!((probabilities[place] as number) > 0)) continue;
      sum += probabilities[place] as number;
      chosen = place;
      if (sum > target) break;
    }
  }
  return { token: chosen - start, logprob: Math.min(0, Math.log((probabilities[chosen] as number) / total)) };
}

/** The smallest set of most probable tokens whose mass reaches topP of the total, then inverse CDF within it. */
function chooseFromNucleus(probabilities: Float32Array, places: number[], total: number, options: ChoiceOptions): number {
  places.sort((left, right) => (probabilities[right] as number) - (probabilities[left] as number) || left - right);
  let mass = 0;
  let count = 0;
  while (count < places.length && mass < options.topP * total) mass += probabilities[places[count++] as number] as number;
  const target = options.rng.uniform() * mass;
  let sum = 0;
  for (let index = 0; index < count; index++) {
    sum += probabilities[places[index] as number] as number;
    if (sum > target) return places[index] as number;
  }
  return places[count - 1] as number;
}
