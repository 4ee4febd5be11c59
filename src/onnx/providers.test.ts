import * as ort from "onnxruntime-node";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ConfigError } from "../errors.ts";
import { GraphBuilder } from "./onnx-model.ts";
import { checkProviders } from "./providers.ts";
import { createSession, providersInUse, useProviders } from "./session.ts";

afterEach(() => {
  useProviders(["cpu"]);
  vi.restoreAllMocks();
});

describe("execution providers", () => {
  it("takes the CPU", async () => {
    await expect(checkProviders(["cpu"])).resolves.toBeUndefined();
    expect(providersInUse()).toEqual(["cpu"]);
  });

  it("names a provider that can't be used, what onnxruntime has, and what to do", async () => {
    // Whatever this machine has: onnxruntime refuses as it does where the driver is missing.
    vi.spyOn(ort.InferenceSession, "create").mockRejectedValue(new Error("No supported adapters"));
    const failure = await checkProviders(["webgpu", "cpu"]).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ConfigError);
    expect((failure as Error).message).toMatch(
      /engine\.executionProviders: webgpu can't be used on this machine: No supported adapters\n.*cpu \(in this package\).*Vulkan/,
    );
  });

  it("reach the sessions", async () => {
    const graph = new GraphBuilder();
    graph.node("Neg", [graph.input("x", "float", [1])], ["y"]);
    graph.output("y", "float", [1]);
    const create = vi.spyOn(ort.InferenceSession, "create").mockRejectedValue(new Error("not opened"));
    useProviders(["webgpu", "cpu"]);
    await expect(createSession(graph.build(), 1)).rejects.toThrow("not opened");
    expect(create.mock.calls[0]?.[1]).toMatchObject({ executionProviders: ["webgpu", "cpu"] });
  });
});
