import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { retrievalConfigSchema, type ServingConfig } from "../config.ts";
import type { Retriever } from "../retrieval/retriever.ts";
import { listen } from "./listen.ts";
import { serverMetrics } from "./metrics.ts";
import { MicroBatcher } from "./micro-batcher.ts";
import { retrievalApp } from "./retrieval-app.ts";

/** Limits of a server (those of the configuration's section `serving`, all with its defaults) and what it tells of itself. */
export interface RetrievalServerOptions extends Partial<Omit<ServingConfig, "host" | "port" | "tokenVariable">> {
  /** Bearer token that `/retrieve` and `/metrics` ask for; absent: none. */
  readonly token?: string | undefined;
  /** Passages a query where a request doesn't say. Default 50, or `maxTopK` where that is less. */
  readonly defaultTopK?: number;
  /** Most passages in one answer. Default 65,536. */
  readonly maxPassages?: number;
  /** How many passages are searched, for `/health`. */
  readonly documents?: number | undefined;
  /**
   * Searches under way at once. Default 8 where the retriever is a server, otherwise 1: what arrives during a search makes the next batch
   * large, and large batches cost less for each query.
   */
  readonly concurrentSearches?: number;
  /** Seconds that a client has to send a whole request. Default 30. */
  readonly requestSeconds?: number;
  /** Told why the retriever failed, once a request, and when a connection can't be accepted. */
  readonly onFailure?: (error: unknown) => void;
}

/** Where to listen. */
export interface ListenOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** 0: any free one. Default 8000. */
  readonly port?: number;
}

/** A server over a retriever; see {@link createRetrievalServer}. */
export interface RetrievalServer {
  /** Answers one request, for servers and frameworks that speak `fetch`. */
  fetch(request: Request): Promise<Response>;
  /**
   * Starts listening.
   * @throws ConfigError when the port is taken or the host is none of this machine's.
   */
  listen(options?: ListenOptions): Promise<{ readonly url: string; readonly host: string; readonly port: number }>;
  /** Refuses new requests, finishes those under way within `limitSeconds` (default 10), then closes every connection. */
  close(limitSeconds?: number): Promise<void>;
}

/**
 * A retrieval server of Search-R1's wire: `POST /retrieve` (see `retrieval/wire/retrieve-wire.ts`), `GET /health`, `GET /metrics`.
 * Concurrent requests share searches. The retriever stays the caller's: close it after the server.
 */
export function createRetrievalServer(retriever: Retriever, options: RetrievalServerOptions = {}): RetrievalServer {
  const { serving, retrieval } = retrievalConfigSchema.parse({});
  const { maxQueries = serving.maxQueries, maxQueryCharacters = serving.maxQueryCharacters, maxTopK = serving.maxTopK } = options;
  const { maxBodyBytes = serving.maxBodyBytes, maxWaiting = serving.maxWaiting } = options;
  const { batchQueries = serving.batchQueries, batchMilliseconds = serving.batchMilliseconds } = options;
  const { concurrentSearches = retriever.searchEach ? 8 : 1, maxPassages = 65_536, requestSeconds = 30 } = options;
  const metrics = serverMetrics(retriever.name, () => batcher.waiting);
  const batcher = new MicroBatcher(retriever, {
    batchQueries,
    batchMilliseconds,
    maxWaiting,
    concurrentSearches,
    onBatch: metrics.batch,
  });
  const onFailure = options.onFailure ?? (() => undefined);
  let stopping = false;
  const app = retrievalApp({
    retriever,
    batcher,
    metrics,
    limits: {
      maxQueries,
      maxQueryCharacters,
      maxTopK,
      maxBodyBytes,
      maxPassages,
      defaultTopK: Math.min(options.defaultTopK ?? retrieval.candidates, maxTopK),
    },
    token: options.token,
    documents: options.documents,
    isStopping: () => stopping,
    onFailure,
  });
  let server: Server | undefined;
  return {
    fetch: async (request) => app.fetch(request),
    async listen({ host = "127.0.0.1", port = 8000 } = {}) {
      server = createAdaptorServer({
        fetch: app.fetch,
        overrideGlobalObjects: false,
        serverOptions: {
          requestTimeout: requestSeconds * 1000,
          headersTimeout: Math.min(requestSeconds, 10) * 1000,
          connectionsCheckingInterval: 1000,
          keepAliveTimeout: 30_000,
        },
      }) as Server;
      // A client that neither reads its answer nor goes away is cut off.
      server.timeout = 300_000;
      await listen(server, host, port, (error) => {
        onFailure(new Error(`a connection can't be accepted (${error.message})`, { cause: error }));
      });
      const { port: actual } = server.address() as AddressInfo;
      return { url: `http://${host.includes(":") ? `[${host}]` : host}:${actual}`, host, port: actual };
    },
    async close(limitSeconds = 10) {
      stopping = true;
      const closed = server && new Promise<void>((resolve) => server?.close(() => resolve()));
      let timer: NodeJS.Timeout | undefined;
      const limit = new Promise<void>((resolve) => {
        timer = setTimeout(() => {
          server?.closeAllConnections();
          resolve();
        }, limitSeconds * 1000);
      });
      await Promise.race([Promise.all([closed, batcher.idle()]), limit]);
      clearTimeout(timer);
    },
  };
}
