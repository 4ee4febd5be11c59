/** The inner loop of AdamW as a WebAssembly function over the memory of `Parameters`: four numbers at a time, several times faster than JavaScript. */
import { type WasmMemory, wasm } from "./wasm.ts";

/**
 * Updates a run of numbers. The first four arguments are byte offsets of weights, gradients and both moments, then their
 * length in bytes (a multiple of 16), then: gradient scale, beta1, 1 - beta1, beta2, 1 - beta2, factor that keeps the weight
 * (decoupled decay), bias-corrected learning rate, bias correction of the root, eps.
 */
export type AdamWKernel = (weights: number, gradients: number, first: number, second: number, bytes: number, ...scalars: number[]) => void;

const scalarNames = ["scale", "beta1", "rest1", "beta2", "rest2", "keep", "rate", "correction", "eps"] as const;
const pointers = ["weights", "gradients", "first", "second"] as const;
/** Value types and the 16-byte vector type. */
const i32 = 0x7f;
const f32 = 0x7d;
const v128 = 0x7b;

type Code = readonly number[];

function leb128(value: number): Code {
  const bytes: number[] = [];
  let rest = value;
  do {
    const low = rest & 127;
    rest >>>= 7;
    bytes.push(rest === 0 ? low : low | 128);
  } while (rest !== 0);
  return bytes;
}

const list = (items: readonly Code[]): Code => [...leb128(items.length), ...items.flat()];
const section = (id: number, content: Code): Code => [id, ...leb128(content.length), ...content];
const text = (value: string): Code => list([...value].map((character) => [character.charCodeAt(0)]));
const vector = (operation: number, ...operands: Code[]): Code => [...operands.flat(), 0xfd, ...leb128(operation)];

const add = (a: Code, b: Code) => vector(228, a, b);
const subtract = (a: Code, b: Code) => vector(229, a, b);
const multiply = (a: Code, b: Code) => vector(230, a, b);
const divide = (a: Code, b: Code) => vector(231, a, b);
const squareRoot = (a: Code) => vector(227, a);
const splat = (a: Code) => vector(19, a);

/** Parameters first (4 pointers, the length, 9 scalars), then the loop's offset, the scalars as vectors, and three temporaries. */
const locals = [...pointers, "bytes", ...scalarNames, "offset", ...scalarNames.map((name) => `${name}4`), "g", "m", "v"];
const get = (name: string): Code => [0x20, ...leb128(locals.indexOf(name))];
const set = (name: string, value: Code): Code => [...value, 0x21, ...leb128(locals.indexOf(name))];
const address = (pointer: string): Code => [...get(pointer), ...get("offset"), 0x6a];
const load = (pointer: string): Code => [...address(pointer), 0xfd, 0, 4, 0];
const store = (pointer: string, value: Code): Code => [...address(pointer), ...value, 0xfd, 11, 4, 0];

function functionBody(): Code {
  const moved = multiply(get("rate4"), get("m"));
  const root = add(multiply(squareRoot(get("v")), get("correction4")), get("eps4"));
  const advance = [...get("offset"), 0x41, 16, 0x6a, 0x22, ...leb128(locals.indexOf("offset"))];
  const code: Code = [
    ...scalarNames.flatMap((name) => set(`${name}4`, splat(get(name)))),
    0x03,
    0x40,
    ...set("g", multiply(load("gradients"), get("scale4"))),
    ...set("m", add(multiply(load("first"), get("beta14")), multiply(get("g"), get("rest14")))),
    ...set("v", add(multiply(load("second"), get("beta24")), multiply(multiply(get("g"), get("g")), get("rest24")))),
    ...store("first", get("m")),
    ...store("second", get("v")),
    ...store("weights", subtract(multiply(load("weights"), get("keep4")), divide(moved, root))),
    // Repeat while offset + 16 < bytes.
    ...advance,
    ...get("bytes"),
    0x49,
    0x0d,
    0,
    0x0b,
    0x0b,
  ];
  const declarations = list([
    [1, i32],
    [...leb128(scalarNames.length + 3), v128],
  ]);
  return [...leb128(declarations.length + code.length), ...declarations, ...code];
}

/** The kernel over `memory`. */
export function createAdamWKernel(memory: WasmMemory): AdamWKernel {
  const parameterTypes = [...pointers, "bytes"].map(() => [i32]).concat(scalarNames.map(() => [f32]));
  const bytes = Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, list([[0x60, ...list(parameterTypes), 0]])),
    ...section(2, list([[...text("host"), ...text("memory"), 2, 0, 1]])),
    ...section(3, list([[0]])),
    ...section(7, list([[...text("step"), 0, 0]])),
    ...section(10, list([functionBody()])),
  ]);
  return new wasm.Instance(new wasm.Module(bytes), { host: { memory } }).exports["step"] as AdamWKernel;
}
