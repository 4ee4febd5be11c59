import { mkdir, mkdtemp, readFile, readlink, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type FakeHub, type FakeRepository, hashOf, startFakeHub } from "../../../test/fixtures/fake-hub.ts";
import { closeServers } from "../../../test/fixtures/http-server.ts";
import { ConfigError, DataError, InfrastructureError } from "../../errors.ts";
import { type PullEvent, type PullRequest, pullRepository } from "./pull.ts";

const commit = "0123456789abcdef0123456789abcdef01234567";
const weights = Buffer.from(Array.from({ length: 2_000_000 }, (_, index) => (index * 7919) >> 5));
const text = (content: string) => ({ content: Buffer.from(content) });

let folder: string;
let hub: FakeHub;
let repository: FakeRepository;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "cosearch-hub-"));
  repository = {
    kind: "model",
    name: "intfloat/e5-tiny",
    commit,
    architectures: ["BertModel"],
    files: {
      ".gitattributes": text("*.onnx filter=lfs"),
      "README.md": text("# e5"),
      "config.json": text("{}"),
      "modules.json": text("[]"),
      "1_Pooling/config.json": text('{"word_embedding_dimension": 8}'),
      "tokenizer.json": text('{"ä b": 1}'),
      "empty.txt": text(""),
      "onnx/model.onnx": { content: weights, large: true },
      "onnx/model_quantized.onnx": { content: Buffer.from("quantised"), large: true },
      "model.safetensors": { content: Buffer.from("tensors"), large: true },
      "pytorch_model.bin": { content: Buffer.from("pickle"), large: true },
      "openvino/config.json": text("{}"),
      "generation_config.json": text("{}"),
    },
  };
  hub = await startFakeHub([repository]);
});

afterEach(async () => {
  await closeServers();
  await rm(folder, { recursive: true, force: true });
});

function pull(request: Partial<PullRequest> = {}) {
  const environment = { HF_HOME: folder, HF_ENDPOINT: `${hub.address}/`, ...request.environment };
  return pullRepository({ name: repository.name, kind: repository.kind, backoffMilliseconds: 1, ...request, environment });
}

const storage = () => join(folder, "hub/models--intfloat--e5-tiny");
const partOf = (path: string) => join(storage(), "blobs", `${hashOf(repository.files[path] as { content: Buffer })}.incomplete`);
const requestsFor = (path: string) => hub.requests.filter((request) => request.path.endsWith(`/${path}`) && request.path.includes("/cdn/"));
const exists = (path: string) => stat(path).then(Boolean, () => false);

describe("a pull", () => {
  it("lays the default files out as the other clients do", async () => {
    const { folder: snapshot, revision, files, leftOut } = await pull();
    expect(snapshot).toBe(join(storage(), "snapshots", commit));
    expect(revision).toBe(commit);
    const names = [
      "1_Pooling/config.json",
      "README.md",
      "config.json",
      "empty.txt",
      "generation_config.json",
      "modules.json",
      "onnx/model.onnx",
      "tokenizer.json",
    ];
    expect(files.map(({ path }) => path).sort()).toEqual(names);
    expect(leftOut.map(({ path }) => path)).toContain("model.safetensors");
    for (const name of names) {
      const file = repository.files[name] as { content: Buffer };
      const up = "../".repeat(name.split("/").length + 1);
      expect(await readlink(join(snapshot, name))).toBe(`${up}blobs/${hashOf(file)}`);
      expect((await readFile(join(snapshot, name))).equals(file.content)).toBe(true);
    }
    expect(await readFile(join(storage(), "refs/main"), "utf8")).toBe(commit);
    // Files of the same content share one blob.
    expect(
      hub.requests.filter(({ path }) => /\/resolve\/.*\/(generation_)?config\.json$/.test(path) && !path.includes("Pooling")),
    ).toHaveLength(1);
  });

  it("fetches nothing twice, and moves the reference when the branch has moved", async () => {
    await pull();
    const before = hub.requests.length;
    await pull();
    expect(hub.requests.slice(before).filter(({ path }) => /resolve|cdn/.test(path))).toEqual([]);
    const moved = "f".repeat(40);
    repository.commit = moved;
    repository.files = { ...repository.files, "config.json": text('{"changed": true}') };
    const { folder: snapshot } = await pull();
    expect(snapshot.endsWith(moved)).toBe(true);
    expect(requestsFor("onnx/model.onnx")).toHaveLength(1);
    expect(await readFile(join(storage(), "refs/main"), "utf8")).toBe(moved);
  });

  it("goes on where a cut connection ended", async () => {
    hub.cuts.set("onnx/model.onnx", [1_000_000, 500_000]);
    const notices: string[] = [];
    const { folder: snapshot } = await pull({ onProgress: (event) => event.kind === "notice" && notices.push(event.words) });
    expect((await readFile(join(snapshot, "onnx/model.onnx"))).equals(weights)).toBe(true);
    const [first, second, third, ...more] = requestsFor("onnx/model.onnx").map(({ range }) => Number(range?.slice(6, -1) ?? 0));
    expect(first).toBe(0);
    expect(second).toBeGreaterThan(0);
    expect(third).toBeGreaterThan(second as number);
    expect(more).toEqual([]);
    expect(notices).toHaveLength(2);
  });

  it("goes on with what a killed run left", async () => {
    await mkdir(join(storage(), "blobs"), { recursive: true });
    const part = join(storage(), "blobs", `${hashOf({ content: weights, large: true })}.incomplete`);
    await writeFile(part, weights.subarray(0, 1_234_567));
    const done: number[] = [];
    const { folder: snapshot } = await pull({ onProgress: (event) => event.kind === "progress" && done.push(event.done) });
    expect(requestsFor("onnx/model.onnx").map(({ range }) => range)).toEqual(["bytes=1234567-"]);
    expect((await readFile(join(snapshot, "onnx/model.onnx"))).equals(weights)).toBe(true);
    expect(await exists(part)).toBe(false);
    expect(Math.max(...done)).toBe(done.at(-1));
  });

  it("starts again when what was left is damaged, too long, or the server knows no ranges", async () => {
    const part = join(storage(), "blobs", `${hashOf({ content: weights, large: true })}.incomplete`);
    for (const left of [Buffer.alloc(1000, 1), Buffer.alloc(weights.length + 1), weights.subarray(0, 5000)]) {
      await rm(storage(), { recursive: true, force: true });
      await mkdir(join(storage(), "blobs"), { recursive: true });
      await writeFile(part, left);
      hub.ignoresRanges = left.length === 5000;
      const { folder: snapshot } = await pull();
      expect((await readFile(join(snapshot, "onnx/model.onnx"))).equals(weights)).toBe(true);
    }
  });

  it("fetches what --files names, and tells of a pattern that fits nothing", async () => {
    const { files } = await pull({ files: ["*.safetensors", "1_Pooling/"] });
    expect(files.map(({ path }) => path).sort()).toEqual(["1_Pooling/config.json", "model.safetensors"]);
    await expect(pull({ files: ["*.gguf"] })).rejects.toThrow(
      /no file of model intfloat\/e5-tiny fits "\*\.gguf"; it holds .*config\.json/,
    );
  });

  it("keeps what has come when it is stopped", async () => {
    const controller = new AbortController();
    const onProgress = (event: PullEvent) => {
      if (event.kind === "progress" && event.done > 1_000_000) controller.abort();
    };
    hub.cuts.set("onnx/model.onnx", [1_500_000]);
    await expect(pull({ onProgress, signal: controller.signal })).rejects.toThrow(/abort/i);
    const part = join(storage(), "blobs", `${hashOf({ content: weights, large: true })}.incomplete`);
    expect((await stat(part)).size).toBeGreaterThan(900_000);
    expect(await exists(join(storage(), "refs/main"))).toBe(false);
    await pull();
    expect(requestsFor("onnx/model.onnx").at(-1)?.range).toMatch(/^bytes=[1-9]/);
  });

  it("lets two pulls at once share the work", async () => {
    const [one, other] = await Promise.all([pull(), pull()]);
    expect(one).toEqual(other);
    expect(requestsFor("onnx/model.onnx")).toHaveLength(1);
  });
});

describe("a pull refuses", () => {
  it.each(["onnx/model.onnx", "config.json"])("a wrong hash of %s, and removes the file", async (path) => {
    const right = hashOf(repository.files[path] as { content: Buffer });
    const bad = Buffer.from((repository.files[path] as { content: Buffer }).content);
    bad[0] = (bad[0] as number) ^ 1;
    hub.intercept = (_, requested, response) => {
      if (!/cdn|resolve/.test(requested) || !requested.endsWith(`/${path}`)) return false;
      response.writeHead(200, { "content-length": bad.length }).end(bad);
      return true;
    };
    const failure = pull();
    await expect(failure).rejects.toThrow(DataError);
    await expect(failure).rejects.toThrow(
      new RegExp(`${path}: what came has another (SHA-256|Git SHA-1) than the Hub lists \\(${right}\\)`),
    );
    expect(await exists(partOf(path))).toBe(false);
    expect(await exists(join(storage(), "blobs", right))).toBe(false);
    expect(await exists(join(storage(), "refs/main"))).toBe(false);
  });

  it.each(["../../evil.json", "/etc/evil.json", "a\\..\\..\\evil.json", "C:/evil.json"])(
    "a listed path that leads out: %s",
    async (path) => {
      repository.files = { ...repository.files, [path]: text("{}") };
      await expect(pull()).rejects.toThrow(/leads out of the folder: refused/);
    },
  );

  it.each([
    [401, "RepoNotFound", /has no model intfloat\/e5-tiny: check the name.*private one needs HF_TOKEN/],
    [404, "RepoNotFound", /has no model intfloat\/e5-tiny/],
    [401, "GatedRepo", /is gated: accept its terms at http.*\/intfloat\/e5-tiny, then set HF_TOKEN/],
    [403, "GatedRepo", /is gated/],
    [403, "", /the token has no access/],
    [404, "RevisionNotFound", /no such revision/],
  ])("%s %s with advice and without a second try", async (status, code, expected) => {
    refuse(status, code);
    const failure = pull();
    await expect(failure).rejects.toThrow(ConfigError);
    await expect(failure).rejects.toThrow(expected);
    expect(hub.requests).toHaveLength(1);
  });

  it("a token that the Hub refuses, without showing it", async () => {
    refuse(401, "", "Invalid credentials hf_secret");
    const failure = pull({ environment: { HF_TOKEN: "hf_secret" } });
    await expect(failure).rejects.toThrow(/refused the token \(Invalid credentials \*\*\*\): correct HF_TOKEN/);
  });

  it("names that can't be one", async () => {
    await expect(pull({ name: "../etc" })).rejects.toThrow(/expected OWNER\/NAME/);
    await expect(pull({ revision: "../../x" })).rejects.toThrow(/revision "..\/..\/x"/);
    await expect(pull({ environment: { HF_ENDPOINT: "hub.local" } })).rejects.toThrow(/HF_ENDPOINT: expected the address/);
  });
});

describe("the Hub's moods", () => {
  it("waits when asked to, and tries again after 5xx", async () => {
    let calls = 0;
    hub.intercept = (_, __, response) => {
      const status = [429, 503, 500][calls++];
      if (status === undefined) return false;
      response.writeHead(status, { "retry-after": "0" }).end("later");
      return true;
    };
    expect((await pull()).revision).toBe(commit);
    expect(calls).toBeGreaterThan(3);
  });

  it("gives up after six tries, and says what is kept", async () => {
    hub.intercept = (_, path, response) => path.includes("/cdn/") && !!response.writeHead(503).end();
    const failure = pull();
    await expect(failure).rejects.toThrow(InfrastructureError);
    await expect(failure).rejects.toThrow(/answered 503, tried 6 times: what has come is kept/);
    expect(await exists(join(storage(), "snapshots", commit, "config.json"))).toBe(true);
  });

  it("names an endpoint that can't be reached", async () => {
    const gone = pull({ environment: { HF_ENDPOINT: "http://127.0.0.1:9" } });
    await expect(gone).rejects.toThrow(/no connection to http:\/\/127\.0\.0\.1:9 \(.*\), tried 6 times/);
  });

  it("gets the token from HF_TOKEN or the token file; another host gets none", async () => {
    await writeFile(join(folder, "token"), "hf_file\n");
    const other = await startFakeHub([repository]);
    hub.intercept = (_, path, response) => {
      if (!path.includes("/resolve/") || !path.endsWith(".onnx")) return false;
      response
        .writeHead(302, { location: `${other.address.replace("127.0.0.1", "localhost")}${path.replace("/resolve/", "/cdn/")}` })
        .end();
      return true;
    };
    await pull();
    expect(new Set(hub.requests.map(({ authorization }) => authorization))).toEqual(new Set(["Bearer hf_file"]));
    expect(other.requests.map(({ authorization }) => authorization)).toEqual([undefined]);
    await pull({ environment: { HF_TOKEN: "org-token" } });
    expect(hub.requests.at(-1)?.authorization).toBe("Bearer org-token");
  });

  it("asks nothing when offline: the cache answers, or says what it lacks", async () => {
    const offline = { environment: { HF_HUB_OFFLINE: "1" } };
    await expect(pull(offline)).rejects.toThrow(/model intfloat\/e5-tiny is not in the cache .*: pull it with the network/);
    const online = await pull();
    const before = hub.requests.length;
    expect(await pull(offline)).toMatchObject({ folder: online.folder, revision: commit });
    expect((await pull({ offline: true, files: ["config.json"] })).files.map(({ path }) => path)).toEqual(["config.json"]);
    await expect(pull({ ...offline, files: ["*.bin"] })).rejects.toThrow(/lacks pytorch_model\.bin/);
    expect(hub.requests).toHaveLength(before);
  });
});

function refuse(status: number, code: string, message = "no"): void {
  hub.intercept = (_, __, response) => {
    response.writeHead(status, { "content-type": "application/json", ...(code === "" ? {} : { "x-error-code": code }) });
    response.end(JSON.stringify({ error: message }));
    return true;
  };
}
