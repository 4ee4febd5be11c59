/** What crosses the thread between EmbeddedEngine and its worker: plain data only. */
import type { PlainError } from "../../threads/plain-error.ts";
import type { SampledTokens } from "../../types.ts";
import type { EmbeddedEngineCore, EmbeddedEngineOptions } from "./engine-core.ts";
import type { SamplerRequest } from "./sampling-sequence.ts";

/** Handed to the worker when it starts. */
export type WorkerData = EmbeddedEngineOptions;

/** Verbs that are passed on as they are. */
export type PlainMethod = "logprobs" | "forwardBackward" | "optimStep" | "publish" | "saveState" | "loadState" | "exportModel";

/** A call to the worker; its answer has the same id. */
export type WorkerCall =
  /** The last call: the thread ends once those before it are done. */
  | { readonly id: number; readonly method: "end" }
  | {
      [Method in PlainMethod]: {
        readonly id: number;
        readonly method: Method;
        readonly argumentList: Parameters<EmbeddedEngineCore[Method]>;
      };
    }[PlainMethod]
  | {
      readonly id: number;
      readonly method: "sample";
      readonly requests: readonly Omit<SamplerRequest, "signal">[];
      /** One Int32 a request: not 0 once it is aborted. Shared, so that a busy worker sees it. */
      readonly aborted: SharedArrayBuffer;
    };

/** The worker's messages; the first one answers call 0, its own creation, with the model's shape. */
export type WorkerAnswer = { readonly id: number; readonly value: unknown } | { readonly id: number; readonly error: PlainError };

/** How one sample request of a batch ended. */
export type PlainOutcome = { readonly outputs: SampledTokens[] } | { readonly error: PlainError };
