/** The float16 numbers of a safetensors or GGUF file. */

/** IEEE 754 half precision, given as its 16 bits. */
export function halfToFloat(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 31;
  const fraction = half & 1023;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** bfloat16 numbers, the upper halves of float32 ones, into `target`. */
export function decodeBfloat16(halves: Uint16Array, target: Float32Array): void {
  const words = new Uint32Array(1);
  const float = new Float32Array(words.buffer);
  for (let index = 0; index < halves.length; index++) {
    words[0] = (halves[index] as number) << 16;
    target[index] = float[0] as number;
  }
}
