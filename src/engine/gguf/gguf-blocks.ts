/** Number formats of GGUF tensors and how their blocks become float32 (layouts as in ggml's reference implementation). */
import { decodeBfloat16, halfToFloat } from "../half-float.ts";

/** A format: `block` numbers take `bytes` bytes. */
export interface GgufFormat {
  readonly name: string;
  readonly block: number;
  readonly bytes: number;
  /** Whole blocks from the start of `source` into `target`. */
  readonly decode: (source: Uint8Array, target: Float32Array) => void;
}

/** Formats by their number in the file. Others are refused. */
export const ggufFormats: ReadonlyMap<number, GgufFormat> = new Map([
  [0, { name: "F32", block: 1, bytes: 4, decode: (source, target) => target.set(new Float32Array(aligned(source))) }],
  [1, { name: "F16", block: 1, bytes: 2, decode: decodeHalves }],
  [2, blockFormat("Q4_0", 32, 18, decodeQ40)],
  [3, blockFormat("Q4_1", 32, 20, decodeQ41)],
  [6, blockFormat("Q5_0", 32, 22, decodeQ50)],
  [7, blockFormat("Q5_1", 32, 24, decodeQ51)],
  [8, blockFormat("Q8_0", 32, 34, decodeQ80)],
  [12, blockFormat("Q4_K", 256, 144, (view, at, target, to) => decodeKQuant(view, at, target, to, false))],
  [13, blockFormat("Q5_K", 256, 176, (view, at, target, to) => decodeKQuant(view, at, target, to, true))],
  [14, blockFormat("Q6_K", 256, 210, decodeQ6K)],
  [30, { name: "BF16", block: 1, bytes: 2, decode: (source, target) => decodeBfloat16(new Uint16Array(aligned(source)), target) }],
]);

/** One block at byte `at` of the view, into `target` from index `to`. */
type BlockDecoder = (view: DataView, at: number, target: Float32Array, to: number) => void;

function blockFormat(name: string, block: number, bytes: number, decodeBlock: BlockDecoder): GgufFormat {
  const decode = (source: Uint8Array, target: Float32Array) => {
    const view = new DataView(source.buffer, source.byteOffset, source.byteLength);
    for (let at = 0, to = 0; to < target.length; at += bytes, to += block) decodeBlock(view, at, target, to);
  };
  return { name, block, bytes, decode };
}

/** The bytes in a buffer of their own, as typed arrays of wider numbers need. */
function aligned(source: Uint8Array): ArrayBuffer {
  return new Uint8Array(source).buffer;
}

function decodeHalves(source: Uint8Array, target: Float32Array): void {
  const halves = new Uint16Array(aligned(source));
  for (let index = 0; index < halves.length; index++) target[index] = halfToFloat(halves[index] as number);
}

const half = (view: DataView, at: number): number => halfToFloat(view.getUint16(at, true));

function decodeQ40(view: DataView, at: number, target: Float32Array, to: number): void {
  const scale = half(view, at);
  for (let index = 0; index < 16; index++) {
    const pair = view.getUint8(at + 2 + index);
    target[to + index] = ((pair & 15) - 8) * scale;
    target[to + 16 + index] = ((pair >> 4) - 8) * scale;
  }
}

function decodeQ41(view: DataView, at: number, target: Float32Array, to: number): void {
  const scale = half(view, at);
  const least = half(view, at + 2);
  for (let index = 0; index < 16; index++) {
    const pair = view.getUint8(at + 4 + index);
    target[to + index] = (pair & 15) * scale + least;
    target[to + 16 + index] = (pair >> 4) * scale + least;
  }
}

function decodeQ50(view: DataView, at: number, target: Float32Array, to: number): void {
  const scale = half(view, at);
  const fifthBits = view.getUint32(at + 2, true);
  for (let index = 0; index < 16; index++) {
    const pair = view.getUint8(at + 6 + index);
    target[to + index] = (((pair & 15) | (((fifthBits >>> index) & 1) << 4)) - 16) * scale;
    target[to + 16 + index] = (((pair >> 4) | (((fifthBits >>> (index + 16)) & 1) << 4)) - 16) * scale;
  }
}

function decodeQ51(view: DataView, at: number, target: Float32Array, to: number): void {
  const scale = half(view, at);
  const least = half(view, at + 2);
  const fifthBits = view.getUint32(at + 4, true);
  for (let index = 0; index < 16; index++) {
    const pair = view.getUint8(at + 8 + index);
    target[to + index] = ((pair & 15) | (((fifthBits >>> index) & 1) << 4)) * scale + least;
    target[to + 16 + index] = ((pair >> 4) | (((fifthBits >>> (index + 16)) & 1) << 4)) * scale + least;
  }
}

function decodeQ80(view: DataView, at: number, target: Float32Array, to: number): void {
  const scale = half(view, at);
  for (let index = 0; index < 32; index++) target[to + index] = view.getInt8(at + 2 + index) * scale;
}

/** Q4_K and Q5_K: eight sub-blocks of 32, each with a 6-bit scale and a 6-bit minimum; Q5_K keeps the fifth bits apart. */
function decodeKQuant(view: DataView, at: number, target: Float32Array, to: number, fiveBits: boolean): void {
  const scale = half(view, at);
  const least = half(view, at + 2);
  const packed = (index: number) => view.getUint8(at + 4 + index);
  const fifthBits = at + 16;
  const quants = fiveBits ? at + 48 : at + 16;
  for (let part = 0; part < 8; part++) {
    const [factor, minimum] =
      part < 4
        ? [packed(part) & 63, packed(part + 4) & 63]
        : [(packed(part + 4) & 15) | ((packed(part - 4) >> 6) << 4), (packed(part + 4) >> 4) | ((packed(part) >> 6) << 4)];
    const step = scale * factor;
    const offset = least * minimum;
    for (let index = 0; index < 32; index++) {
      const pair = view.getUint8(quants + (part >> 1) * 32 + index);
      const low = part % 2 === 0 ? pair & 15 : pair >> 4;
      const high = fiveBits ? ((view.getUint8(fifthBits + index) >> part) & 1) << 4 : 0;
      target[to + part * 32 + index] = step * (low | high) - offset;
    }
  }
}

/** Q6_K: sixteen sub-blocks of 16 with an 8-bit scale each; four low bits and two high bits a number, apart. */
function decodeQ6K(view: DataView, at: number, target: Float32Array, to: number): void {
  const scale = half(view, at + 208);
  for (let side = 0; side < 2; side++) {
    for (let quarter = 0; quarter < 4; quarter++) {
      for (let index = 0; index < 32; index++) {
        const pair = view.getUint8(at + side * 64 + (quarter % 2) * 32 + index);
        const low = quarter < 2 ? pair & 15 : pair >> 4;
        const high = (view.getUint8(at + 128 + side * 32 + index) >> (2 * quarter)) & 3;
        const factor = view.getInt8(at + 192 + side * 8 + quarter * 2 + (index >> 4));
        target[to + side * 128 + quarter * 32 + index] = scale * factor * ((low | (high << 4)) - 32);
      }
    }
  }
}
