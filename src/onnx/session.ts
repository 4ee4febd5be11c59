/** What every graph needs of onnxruntime: sessions and tensors. */
import * as ort from "onnxruntime-node";
import type { ExecutionProvider } from "./providers.ts";

let used: readonly ExecutionProvider[] = ["cpu"];

/**
 * From now on the sessions of this thread compute with these, the first that can do an operation. Tensors stay in the memory of the CPU
 * between runs. An engine has a thread of its own, so that this sets nothing but that engine's sessions.
 */
export function useProviders(providers: readonly ExecutionProvider[]): void {
  used = [...providers];
}

/** What `useProviders` set; at first the CPU alone. */
export function providersInUse(): readonly ExecutionProvider[] {
  return used;
}

/**
 * A session on the providers in use (the CPU, if `useProviders` set no others), whose part on the CPU has `threads` threads.
 * @param model A serialised model, or the path of one (which may keep its weights in files beside it).
 * @param arena Whether freed memory is kept for the next run: right for a forward pass of large batches, which runs a tenth to twice as
 * fast with it; training needs a fifth less memory, at the same speed, without.
 * @param spinning Whether threads keep their core busy for a while after a run, in wait for the next: right where runs follow each other
 * closely; beside other work they only take its time.
 */
export function createSession(
  model: Uint8Array | string,
  threads: number,
  { arena = false, spinning = true }: { readonly arena?: boolean; readonly spinning?: boolean } = {},
): Promise<ort.InferenceSession> {
  const options: ort.InferenceSession.SessionOptions = {
    executionProviders: [...used],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: "sequential",
    graphOptimizationLevel: "all",
    // Shapes change from run to run: a pattern for each would only hold memory.
    enableMemPattern: false,
    enableCpuMemArena: arena,
    logSeverityLevel: 3,
    ...(spinning ? {} : { extra: { session: { intra_op: { allow_spinning: "0" } } } }),
  };
  return typeof model === "string" ? ort.InferenceSession.create(model, options) : ort.InferenceSession.create(model, options);
}

/** A float tensor over `data` (no copy). */
export function floatTensor(data: Float32Array, shape: readonly number[]): ort.Tensor {
  return new ort.Tensor("float32", data, shape);
}

/** An int64 tensor: over `values` where they are 64-bit already (no copy), else with a copy of them. */
export function integerTensor(values: BigInt64Array | readonly number[], shape: readonly number[] = [values.length]): ort.Tensor {
  return new ort.Tensor("int64", values instanceof BigInt64Array ? values : BigInt64Array.from(values, BigInt), shape);
}
