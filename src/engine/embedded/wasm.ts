/** The part of the WebAssembly interface that the engine uses; Node has it, but its type declarations live in the browser's library. */

/** Memory that a WebAssembly function works on. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer;
}

interface WasmInterface {
  readonly Memory: new (descriptor: { initial: number; maximum: number }) => WasmMemory;
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (
    module: object,
    imports: Record<string, Record<string, unknown>>,
  ) => { readonly exports: Record<string, unknown> };
}

/** Node's WebAssembly. */
export const wasm = (globalThis as unknown as { readonly WebAssembly: WasmInterface }).WebAssembly;
