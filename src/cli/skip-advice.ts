import { DataError } from "../errors.ts";
import { UnusablePassageError } from "../retrieval/corpus/unusable-passage.ts";

/** An error as the command tells it: to one that unusable passages would not be, were they left out, `how` to do that is added. */
export function withSkipAdvice(error: unknown, how: string): unknown {
  if (!(error instanceof UnusablePassageError)) return error;
  return new DataError(`${error.message}\nor leave unusable passages out with ${how}: they are counted`, undefined, { cause: error });
}
