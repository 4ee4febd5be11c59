/** What the loss needs to know of one token. */
export interface SurrogateToken {
  /** Log-probability under the current policy. */
  readonly logprob: number;
  /** Log-probability when the token was sampled. */
  readonly oldLogprob: number;
  /** Log-probability under the reference policy; needed when klCoefficient is not 0. */
  readonly referenceLogprob?: number;
  readonly advantage: number;
  /** The token's share of the loss (Eq. 3's normalisation); a token of weight 0 adds exactly nothing, NaN and infinities included. */
  readonly weight: number;
}

/** The bounds and the divergence of the loss. */
export interface SurrogateOptions {
  /** ε below, default 0.2. */
  readonly clipLow?: number;
  /** ε above, default 0.2. */
  readonly clipHigh?: number;
  /** The loss of a negative advantage never exceeds dualClip × |advantage|; absent: no bound. */
  readonly dualClip?: number;
  /** β of the k3 divergence from the reference policy, default 0. */
  readonly klCoefficient?: number;
}

/** Loss and gradient over a list of tokens. */
export interface SurrogateResult {
  /** Sum over tokens of weight × (surrogate + klCoefficient × k3), not divided by anything. */
  readonly loss: number;
  /** d loss / d logprob, one a token. */
  readonly gradient: number[];
  /** Share of the tokens of non-zero weight whose gradient the clip removed. */
  readonly clipFraction: number;
  /** Weighted mean of k3 over the tokens with a reference; 0 when there is none. */
  readonly kl: number;
}

/** Log-ratios are cut here, so that exp never overflows. */
const maxLogRatio = 20;

/** A ratio this little (relatively) past a bound is at the bound, where the gradient still flows: exp(log(1.2)) need not be 1.2. */
const boundSlack = 1e-9;

/**
 * GRPO's clipped surrogate (Eq. 3) and its gradient: −min(r·A, clip(r, 1 − clipLow, 1 + clipHigh)·A) with r the ratio of the
 * current to the sampling probability, plus klCoefficient times the k3 estimate exp(d) − d − 1 with d = reference − logprob.
 * @throws RangeError naming the token when a weighted token has no reference that klCoefficient needs, or a log-ratio that is not a number.
 */
export function clippedSurrogate(tokens: readonly SurrogateToken[], options: SurrogateOptions = {}): SurrogateResult {
  const { klCoefficient = 0 } = options;
  const gradient: number[] = [];
  let loss = 0;
  let counted = 0;
  let clipped = 0;
  let klSum = 0;
  let klWeight = 0;
  for (const [index, token] of tokens.entries()) {
    const { weight, referenceLogprob } = token;
    if (weight === 0) {
      gradient.push(0);
      continue;
    }
    counted += 1;
    const surrogate = tokenSurrogate(token, options, index);
    let tokenLoss = surrogate.loss;
    let tokenGradient = surrogate.gradient;
    if (surrogate.clipped) clipped += 1;
    if (referenceLogprob !== undefined) {
      const divergence = tokenDivergence(token.logprob, referenceLogprob, index);
      klSum += weight * divergence.k3;
      klWeight += weight;
      tokenLoss += klCoefficient * divergence.k3;
      tokenGradient += klCoefficient * divergence.gradient;
    } else if (klCoefficient !== 0) {
      throw new RangeError(
        `tokens[${index}].referenceLogprob is missing, but klCoefficient is ${klCoefficient}: give it or set klCoefficient to 0`,
      );
    }
    loss += weight * tokenLoss;
    gradient.push(weight * tokenGradient);
  }
  return { loss, gradient, clipFraction: counted === 0 ? 0 : clipped / counted, kl: klWeight === 0 ? 0 : klSum / klWeight };
}

function tokenSurrogate(
  token: SurrogateToken,
  options: SurrogateOptions,
  index: number,
): { loss: number; gradient: number; clipped: boolean } {
  const { clipLow = 0.2, clipHigh = 0.2, dualClip } = options;
  const { advantage } = token;
  const { value, slope } = clampedDifference(token.logprob, token.oldLogprob, index, "oldLogprob");
  const ratio = Math.exp(value);
  const exceeds = (high: number) => ratio > high * (1 + boundSlack);
  if (advantage > 0 && exceeds(1 + clipHigh)) return { loss: -(1 + clipHigh) * advantage, gradient: 0, clipped: true };
  if (advantage < 0 && ratio < (1 - clipLow) * (1 - boundSlack)) return { loss: -(1 - clipLow) * advantage, gradient: 0, clipped: true };
  if (advantage < 0 && dualClip !== undefined && exceeds(dualClip)) return { loss: -dualClip * advantage, gradient: 0, clipped: true };
  return { loss: -ratio * advantage, gradient: -ratio * advantage * slope, clipped: false };
}

function tokenDivergence(logprob: number, referenceLogprob: number, index: number): { k3: number; gradient: number } {
  const { value, slope } = clampedDifference(referenceLogprob, logprob, index, "referenceLogprob");
  return { k3: Math.expm1(value) - value, gradient: -Math.expm1(value) * slope };
}

/** first − second, cut at ±20; `slope` is its derivative by the difference: 0 where it was cut. */
function clampedDifference(first: number, second: number, index: number, other: string): { value: number; slope: 0 | 1 } {
  const difference = first - second;
  if (Number.isNaN(difference)) {
    throw new RangeError(
      `tokens[${index}]: the difference of logprob and ${other} (${first} and ${second}) is not a number; give the token weight 0 or mend its log-probabilities`,
    );
  }
  if (Math.abs(difference) <= maxLogRatio) return { value: difference, slope: 1 };
  return { value: Math.sign(difference) * maxLogRatio, slope: 0 };
}
