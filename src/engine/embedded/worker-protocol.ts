/** What crosses the thread between EngineThread and its worker: plain data only. */
import type { PlainError } from "../../threads/plain-error.ts";
import type { SampledTokens } from "../../types.ts";
import type { EmbeddedEngineCore, EmbeddedEngineOptions, PolicyOptions } from "./engine-core.ts";
import type { SamplerRequest } from "./sampling-sequence.ts";

/** Handed to the worker when it starts: what its first policy is made of. */
export type WorkerData = EmbeddedEngineOptions;

/** The policy that is made with the thread. */
export const firstPolicy = 0;

/** Verbs that are passed on as they are. */
export type PlainMethod =
  | "logprobs"
  | "forwardBackward"
  | "optimStep"
  | "publish"
  | "saveState"
  | "loadState"
  | "exportModel"
  | "exportAdapter";

/** What is asked of a policy. */
export type CallBody =
  /** The last call: the thread ends once those before it are done. */
  | { readonly method: "end" }
  /** Makes the policy that the call names. */
  | { readonly method: "addPolicy"; readonly options: PolicyOptions }
  | { readonly method: "closePolicy" }
  | {
      [Method in PlainMethod]: { readonly method: Method; readonly argumentList: Parameters<EmbeddedEngineCore[Method]> };
    }[PlainMethod]
  | {
      readonly method: "sample";
      readonly requests: readonly Omit<SamplerRequest, "signal">[];
      /** One Int32 a request: not 0 once it is aborted. Shared, so that a busy worker sees it. */
      readonly aborted: SharedArrayBuffer;
    };

/** A call to the worker; its answer has the same id. */
export type WorkerCall = { readonly id: number; readonly policy: number } & CallBody;

/** How one sample request of a batch ended. */
export type PlainOutcome = { readonly outputs: SampledTokens[] } | { readonly error: PlainError };
