/** Numbers of both sides next to each other. */
import { SafetensorsFile } from "../src/engine/embedded/safetensors.ts";

/** Largest absolute difference; NaN where any number is NaN or the lengths differ. `leaveOut` names expected numbers that do not count. */
export function largestDifference(
  expected: ArrayLike<number>,
  found: ArrayLike<number>,
  leaveOut: (expected: number) => boolean = () => false,
): number {
  if (expected.length !== found.length) return Number.NaN;
  let largest = 0;
  for (let index = 0; index < expected.length; index++) {
    const wanted = expected[index] as number;
    // Math.max keeps a NaN once there is one.
    if (!leaveOut(wanted)) largest = Math.max(largest, Math.abs(wanted - (found[index] as number)));
  }
  return largest;
}

/** A tensor and how far apart both sides are in it. */
export interface TensorDifference {
  readonly name: string;
  readonly value: number;
}

/** The larger one; NaN is larger than every number. */
export function worse(left: TensorDifference, right: TensorDifference): TensorDifference {
  if (Number.isNaN(left.value)) return left;
  return right.value <= left.value ? left : right;
}

/** Reads the peer's tensors while `use` runs. */
export async function withTensors<Result>(
  path: string,
  use: (read: (name: string) => Promise<Float32Array>, names: readonly string[]) => Promise<Result>,
): Promise<Result> {
  const file = await SafetensorsFile.open(path);
  const read = async (name: string) => {
    const shape = file.shapeOf(name) ?? [];
    const numbers = new Float32Array(shape.reduce((product, size) => product * size, 1));
    await file.readInto(name, shape, numbers);
    return numbers;
  };
  try {
    return await use(read, file.names);
  } finally {
    await file.close();
  }
}
