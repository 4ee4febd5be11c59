/** One joint step whose first stage is a server in another place, some of whose answers fail. */
import { afterEach, describe, expect, it } from "vitest";
import { tinyConfig, tinyWiring } from "../../test/fixtures/training/tiny-run.ts";
import { questions, tinyRetriever } from "../../test/fixtures/training/tiny-world.ts";
import { agentProtocolFor } from "../agent/agent-protocol.ts";
import { InfrastructureError } from "../errors.ts";
import { createSearch, rankerProtocolFor } from "../ranker/systems.ts";
import { batchedRetriever } from "../retrieval/batched-retriever.ts";
import { remoteRetriever } from "../retrieval/remote-retriever.ts";
import type { Retriever } from "../retrieval/retriever.ts";
import { createRetrievalServer } from "../serving/retrieval-server.ts";
import { trainStep } from "./step.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A client of a server over `retriever`. */
async function served(retriever: Retriever): Promise<Retriever> {
  const server = createRetrievalServer(retriever);
  const { url } = await server.listen({ port: 0 });
  const client = remoteRetriever({ url, retries: 1, backoffMilliseconds: 1 });
  closing.push(
    () => client.close(),
    () => server.close(0),
  );
  return client;
}

const secret = "unreachable shard seven";
/** Fails for queries that name Italy. */
const partly: Retriever = {
  name: "partly",
  async search(queries, topK) {
    if (queries.some((query) => query.includes("italy"))) throw new Error(secret);
    return tinyRetriever().search(queries, topK);
  },
};

const agent = (prompt: string, draw: number) => {
  const country = /capital of (\w+)/.exec(prompt)?.[1] ?? "x";
  if (!prompt.includes("<observation>")) {
    return `<reason>look</reason><tool_call>{"name":"search","arguments":{"query":"${country} ${draw % 2}"}}</tool_call>`;
  }
  return `<reason>found</reason><answer>${draw % 3 === 0 ? "oslo" : "paris"}</answer>`;
};

async function step(retriever: Retriever) {
  const config = tinyConfig();
  const wiring = tinyWiring({ main: agent });
  const ranker = { ...wiring.ranker, protocol: rankerProtocolFor(config, wiring.ranker.renderer) };
  const parts = { retriever: batchedRetriever(retriever), ranker: { sampler: ranker.engine, protocol: ranker.protocol } };
  const context = {
    config,
    protocol: agentProtocolFor(config, wiring.main.renderer),
    search: createSearch(config, parts, "training"),
    publish: async () => ({ main: await wiring.main.engine.publish(), ranker: await ranker.engine.publish() }),
    main: wiring.main,
    ranker,
  };
  const result = await trainStep(context, { step: 1, questions: questions.slice(0, 3) });
  const trained = [...wiring.main.engine.updates, ...ranker.engine.updates].flatMap(({ examples }) => examples);
  const prompts = [...wiring.main.engine.requests, ...ranker.engine.requests].map(({ promptTokenIds }) => promptTokenIds);
  return { result, trained, shown: prompts.map((tokens) => wiring.main.renderer.decode(tokens)), renderer: wiring.main.renderer };
}

describe("training over a retrieval server", () => {
  it("learns the same as without one", async () => {
    const [local, remote] = [await step(tinyRetriever()), await step(await served(tinyRetriever()))];
    expect(remote.trained.length).toBeGreaterThan(0);
    expect(JSON.stringify(remote.trained)).toBe(JSON.stringify(local.trained));
  });

  it("leaves out, and counts, the trajectories whose search failed for good, and shows nobody the error", async () => {
    const { result, trained, shown, renderer } = await step(await served(partly));
    expect(result.metrics).toMatchObject({ trajectories: 12, infraFailed: 4 });
    expect(result.mainGroups.map(({ members }) => members.length)).toEqual([4, 0, 4]);
    const calls = result.rankerGroups.flat().flatMap(({ members }) => members.map(({ call }) => call.questionId));
    expect(calls).not.toContain(questions[1]?.id);
    expect(trained.length).toBeGreaterThan(0);
    for (const { tokenIds } of trained) expect(renderer.decode(tokenIds)).not.toMatch(/italy/);
    for (const prompt of shown) expect(prompt).not.toMatch(/unreachable|shard|failed|error/i);
  });

  it("stops, with nothing learnt, when no search can be served", async () => {
    const never: Retriever = { name: "never", search: () => Promise.reject(new Error(secret)) };
    const failure = step(await served(never));
    await expect(failure).rejects.toThrow(InfrastructureError);
    await expect(failure).rejects.toThrow(/^step 1: none of 12 trajectories could be served, the first because .*go on with --resume$/s);
  });
});
