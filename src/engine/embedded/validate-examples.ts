import type { Loss, ScoredSequence, TrainingExample } from "../engine.ts";
import type { ModelShape } from "./architecture.ts";

/** @throws RangeError naming the sequence and field that a model of this shape can't take. */
export function validateSequences(sequences: readonly ScoredSequence[], shape: ModelShape): void {
  sequences.forEach(({ tokenIds, mask }, index) => {
    if (mask.length !== tokenIds.length)
      throw new RangeError(`sequence ${index}: mask has ${mask.length} entries for ${tokenIds.length} tokens`);
    if (mask[0] === 1) throw new RangeError(`sequence ${index}: mask[0] is 1, but nothing comes before the first token: set it to 0`);
    if (tokenIds.length > shape.maxPositions) {
      throw new RangeError(
        `sequence ${index} has ${tokenIds.length} tokens, but the model has ${shape.maxPositions} positions: shorten it`,
      );
    }
    for (const [position, token] of tokenIds.entries()) checkToken(token, `sequence ${index}: tokenIds[${position}]`, shape);
  });
}

function checkToken(token: number, place: string, shape: ModelShape): void {
  if (!Number.isInteger(token) || token < 0 || token >= shape.vocabularySize) {
    throw new RangeError(`${place} is ${token}, outside the vocabulary of ${shape.vocabularySize}`);
  }
}

/** @throws RangeError naming the example, field and position that the loss can't use. */
export function validateExamples(examples: readonly TrainingExample[], loss: Loss, shape: ModelShape): void {
  validateSequences(examples, shape);
  examples.forEach((example, index) => {
    const aligned = (field: string, list: readonly number[]) => {
      if (list.length !== example.tokenIds.length) {
        throw new RangeError(`example ${index}: ${field} has ${list.length} entries for ${example.tokenIds.length} tokens`);
      }
    };
    aligned("weights", example.weights);
    if (loss.kind === "cross-entropy") {
      if (example.targets) aligned("targets", example.targets);
    } else {
      aligned("logprobs", example.logprobs);
      aligned("advantages", example.advantages);
      if (loss.klCoefficient && !example.referenceLogprobs) {
        throw new RangeError(`example ${index}: referenceLogprobs are missing, but klCoefficient is ${loss.klCoefficient}`);
      }
      if (example.referenceLogprobs) aligned("referenceLogprobs", example.referenceLogprobs);
    }
    example.mask.forEach((trained, position) => {
      if (trained === 1) validateToken(example, index, position, loss, shape);
    });
  });
}

function validateToken(example: TrainingExample, index: number, position: number, loss: Loss, shape: ModelShape): void {
  const finite = (field: string, value: number | undefined) => {
    if (!Number.isFinite(value))
      throw new RangeError(`example ${index}: ${field}[${position}] is ${value}: give the token weight 0 or mend it`);
  };
  finite("weights", example.weights[position]);
  if (example.weights[position] === 0) return;
  if (loss.kind === "cross-entropy") {
    const target = example.targets?.[position] ?? -1;
    if (target !== -1) checkToken(target, `example ${index}: targets[${position}]`, shape);
    return;
  }
  finite("logprobs", example.logprobs[position]);
  finite("advantages", example.advantages[position]);
  if (loss.klCoefficient) finite("referenceLogprobs", example.referenceLogprobs?.[position]);
}
