import { type Context, Hono } from "hono";
import type { StatusCode } from "hono/utils/http-status";
import { InfrastructureError } from "../errors.ts";
import type { Retriever } from "../retrieval/retriever.ts";
import { type RetrieveAnswer, toWire } from "../retrieval/wire/retrieve-wire.ts";
import type { Candidate } from "../types.ts";
import { holdsToken } from "./bearer-token.ts";
import type { ServerMetrics } from "./metrics.ts";
import { type MicroBatcher, OverloadedError } from "./micro-batcher.ts";
import { BadRequestError, parseRequest, type RequestLimits } from "./parse-request.ts";
import { BodyTooLargeError, readBody } from "./read-body.ts";

/** What the routes are made of. */
export interface RetrievalAppParts {
  readonly retriever: Retriever;
  readonly batcher: MicroBatcher;
  readonly metrics: ServerMetrics;
  readonly limits: RequestLimits & { readonly maxBodyBytes: number };
  readonly token?: string | undefined;
  readonly documents?: number | undefined;
  readonly isStopping: () => boolean;
  /** Told why the retriever failed, once a request. */
  readonly onFailure: (error: unknown) => void;
}

/** What the status is when a request can't be answered, and what its sender is told. */
interface Refusal {
  readonly status: number;
  readonly error: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The methods of the paths that there are. */
const methods: Readonly<Record<string, string>> = { "/retrieve": "POST", "/health": "GET, HEAD", "/metrics": "GET, HEAD" };
/** What a client that went away is counted as. */
const clientGone = 499;
/** Seconds after which an overloaded or stopping server may be asked again. */
const retryAfter = "1";

/** `POST /retrieve`, `GET /health` and `GET /metrics`; everything that is refused says why in `{error}`. */
export function retrievalApp(parts: RetrievalAppParts): Hono {
  const { retriever, batcher, metrics, limits, token, documents, isStopping } = parts;
  const app = new Hono();

  app.use(async (context, next) => {
    const start = performance.now();
    await next();
    const route = methods[context.req.path] === undefined ? "other" : context.req.path;
    const code = context.req.raw.signal.aborted ? clientGone : context.res.status;
    metrics.answered(route, code, (performance.now() - start) / 1000);
    if (isStopping()) context.header("connection", "close");
  });

  app.use(async (context, next) => {
    const allowed = methods[context.req.path];
    if (allowed === undefined) return refuse(context, { status: 404, error: `no such path: there are ${Object.keys(methods).join(", ")}` });
    if (!allowed.split(", ").includes(context.req.method)) {
      return refuse(context, { status: 405, error: `${context.req.path} takes ${allowed}`, headers: { allow: allowed } });
    }
    const isOpen = token === undefined || context.req.path === "/health";
    if (isOpen || holdsToken(context.req.header("authorization"), token)) return next();
    return refuse(context, { status: 401, error: "send the token: Authorization: Bearer ...", headers: { "www-authenticate": "Bearer" } });
  });

  app.get("/health", (context) => {
    const ready = !isStopping();
    return context.json(
      { status: ready ? "ready" : "stopping", documents: documents ?? null, retriever: retriever.name },
      ready ? 200 : 503,
    );
  });

  app.get("/metrics", async (context) => {
    const { text, contentType } = await metrics.render();
    return context.body(text, 200, { "content-type": contentType });
  });

  app.post("/retrieve", async (context) => {
    const refusal = acceptability(context);
    if (refusal) return refuse(context, refusal);
    const { signal } = context.req.raw;
    try {
      const request = parseRequest(await readBody(context.req.raw, limits.maxBodyBytes), limits);
      const found = await batcher.search(request.queries, request.topk, signal);
      return context.json(answerOf(found, request.return_scores));
    } catch (error) {
      return refuse(context, signal.aborted ? { status: clientGone, error: "the client went away" } : refusalOf(error));
    }
  });

  app.onError((error, context) => {
    parts.onFailure(error);
    return refuse(context, { status: 500, error: `unexpected error: ${error.message}` });
  });

  /** Why a request is refused before its body is read. */
  function acceptability(context: Context): Refusal | undefined {
    const type = context.req.header("content-type") ?? "";
    if (!/^application\/([\w.-]+\+)?json *(;|$)/i.test(type)) {
      return { status: 415, error: `send JSON with Content-Type: application/json, got ${type === "" ? "none" : type}` };
    }
    const encoding = context.req.header("content-encoding") ?? "identity";
    if (encoding !== "identity") return { status: 415, error: `send the body as it is, without Content-Encoding ${encoding}` };
    if (isStopping()) return { status: 503, error: "the server is stopping", headers: { "retry-after": retryAfter } };
    if (batcher.isFull) return overloaded(`overloaded: ${batcher.waiting} requests are under way or waiting`);
    return undefined;
  }

  function refusalOf(error: unknown): Refusal {
    if (error instanceof BadRequestError) return { status: 400, error: error.message };
    if (error instanceof BodyTooLargeError) return { status: 413, error: error.message, headers: { connection: "close" } };
    if (error instanceof OverloadedError) return overloaded(error.message);
    metrics.retrievalFailed();
    parts.onFailure(error);
    const reason = error instanceof Error ? error.message : String(error);
    return { status: error instanceof InfrastructureError ? 502 : 500, error: `retrieval failed: ${reason}` };
  }

  return app;
}

function overloaded(error: string): Refusal {
  return { status: 503, error, headers: { "retry-after": retryAfter } };
}

function refuse(context: Context, { status, error, headers }: Refusal): Response {
  return context.body(JSON.stringify({ error }), status as StatusCode as 400, { "content-type": "application/json", ...headers });
}

function answerOf(found: readonly (readonly Candidate[])[], withScores: boolean): RetrieveAnswer {
  return {
    result: found.map((list) => list.map(({ document, score }) => (withScores ? { document: toWire(document), score } : toWire(document)))),
  };
}
