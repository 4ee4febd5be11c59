/** Execution providers: what of a machine onnxruntime computes with. */
import * as ort from "onnxruntime-node";
import { ConfigError } from "../errors.ts";
import { GraphBuilder } from "./onnx-model.ts";

/** The providers that can be asked for, by onnxruntime's names. */
export const executionProviders = ["cpu", "webgpu", "cuda"] as const;
export type ExecutionProvider = (typeof executionProviders)[number];

const advice: Record<ExecutionProvider, string> = {
  cpu: "run npm ci again on this machine",
  webgpu: "webgpu needs a graphics driver (on Linux libvulkan.so.1 and a Vulkan driver)",
  cuda: "cuda needs an NVIDIA driver, CUDA, and onnxruntime's CUDA libraries, which its npm package fetches only when asked to: ONNXRUNTIME_NODE_INSTALL=true npm rebuild onnxruntime-node",
};

/**
 * Opens and runs a small product on each of the providers, except the CPU.
 * @throws ConfigError naming the first that can't be used, what onnxruntime has, and what to do.
 */
export async function checkProviders(providers: readonly ExecutionProvider[]): Promise<void> {
  for (const provider of providers) if (provider !== "cpu") await tryProvider(provider);
}

async function tryProvider(provider: ExecutionProvider): Promise<void> {
  const graph = new GraphBuilder();
  graph.node("MatMul", [graph.input("a", "float", [2, 2]), graph.input("b", "float", [2, 2])], ["product"]);
  graph.output("product", "float", [2, 2]);
  try {
    const session = await ort.InferenceSession.create(graph.build(), { executionProviders: [provider], logSeverityLevel: 4 });
    try {
      const matrix = new ort.Tensor("float32", Float32Array.of(1, 2, 3, 4), [2, 2]);
      const product = (await session.run({ a: matrix, b: matrix }))["product"]?.data as Float32Array;
      if (Array.from(product).join() !== "7,10,15,22") throw new Error(`a matrix product is wrong: expected 7,10,15,22, got ${product}`);
    } finally {
      await session.release();
    }
  } catch (error) {
    throw providerError(provider, error);
  }
}

function providerError(provider: ExecutionProvider, error: unknown): ConfigError {
  const found = ort.listSupportedBackends().map(({ name, bundled }) => `${name} (${bundled ? "in this package" : "fetched apart"})`);
  const reason = (error as Error).message.trim();
  return new ConfigError(
    `engine.executionProviders: ${provider} can't be used on this machine: ${reason}\nonnxruntime knows here: ${found.join(", ")}. ${advice[provider]}; or compute on the CPU: --set 'engine.executionProviders=["cpu"]'`,
  );
}
