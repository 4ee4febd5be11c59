/** What crosses the thread between OnnxEmbedder and its worker: plain data only. */
import type { EncoderResources } from "./encoder.ts";
import type { EncoderSettings } from "./encoder-folder.ts";

/** Handed to the worker when it starts. */
export interface EncoderWorkerData {
  readonly settings: EncoderSettings;
  readonly resources: EncoderResources;
}

/** A call to the worker; it gets an id, which its answer has too. */
export type EncoderCall =
  /** The last call: the thread ends once those before it are done. */
  | { readonly end: true }
  | {
      readonly end?: false;
      readonly texts: readonly string[];
      /** One Int32: not 0 once the call is aborted. Shared, so that a busy worker sees it. */
      readonly aborted: SharedArrayBuffer;
    };

/** What is known once the model is open. */
export interface OpenedEncoder {
  readonly dimensions: number;
  /** Whether pooling is the graph's. */
  readonly pooled: boolean;
}
