import { createRequire } from "node:module";
import { GraphBuilder } from "../onnx/onnx-model.ts";

const size = 256;

/**
 * Multiplies two matrices in onnxruntime on one thread and compares with a product made here.
 * @throws when onnxruntime can't be loaded or computes wrongly.
 */
export async function checkKernels(): Promise<{ readonly version: string; readonly gigaflops: number }> {
  const { createSession, floatTensor } = await import("../onnx/session.ts");
  const graph = new GraphBuilder();
  const product = graph.node("MatMul", [graph.input("a", "float", [size, size]), graph.input("b", "float", [size, size])], ["product"]);
  graph.output(product[0] as string, "float", [size, size]);
  const session = await createSession(graph.build(), 1);
  const fill = (factor: number) => Float32Array.from({ length: size * size }, (_, index) => Math.sin(factor * index));
  const [a, b] = [fill(0.1), fill(0.3)];
  const feeds = { a: floatTensor(a, [size, size]), b: floatTensor(b, [size, size]) };
  const result = (await session.run(feeds)).product?.data as Float32Array;
  for (const [row, column] of [
    [0, 0],
    [17, 200],
    [size - 1, size - 1],
  ] as const) {
    let expected = 0;
    for (let inner = 0; inner < size; inner++) expected += (a[row * size + inner] ?? 0) * (b[inner * size + column] ?? 0);
    const found = result[row * size + column] ?? Number.NaN;
    if (!(Math.abs(found - expected) < 1e-3)) throw new Error(`a matrix product is wrong: expected ${expected}, got ${found}`);
  }
  const started = performance.now();
  let runs = 0;
  while (performance.now() - started < 100) {
    await session.run(feeds);
    runs++;
  }
  const seconds = (performance.now() - started) / 1000;
  await session.release();
  const { version } = createRequire(import.meta.url)("onnxruntime-node/package.json") as { version: string };
  return { version, gigaflops: (runs * 2 * size ** 3) / seconds / 1e9 };
}
