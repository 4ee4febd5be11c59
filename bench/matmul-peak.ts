/** What the machine can do at best: a large matrix product in the library that the engine computes with. */
import * as ort from "onnxruntime-node";
import { GraphBuilder } from "../src/onnx/onnx-model.ts";
import { createSession } from "../src/onnx/session.ts";
import { Rng } from "../src/rng.ts";

/** Products in one run, so that copying the result out doesn't count. */
const chain = 8;

/** Seconds of one [size, size] x [size, size] product (2 size^3 operations), once for each repetition. */
export async function timeMatmul(size: number, repeats: number, threads: number): Promise<number[]> {
  const graph = new GraphBuilder();
  const right = graph.input("right", "float", [size, size]);
  let value = graph.input("left", "float", [size, size]);
  for (let link = 1; link < chain; link++) value = graph.apply("MatMul", [value, right]);
  graph.node("MatMul", [value, right], ["product"]);
  graph.output("product", "float", [size, size]);
  const session = await createSession(graph.build(), threads);
  const rng = new Rng(1);
  const matrix = () =>
    new ort.Tensor(
      "float32",
      Float32Array.from({ length: size * size }, () => rng.normal() / Math.sqrt(size)),
      [size, size],
    );
  const feeds = { left: matrix(), right: matrix() };
  const seconds: number[] = [];
  for (let repetition = 0; repetition < repeats + 1; repetition++) {
    const start = performance.now();
    await session.run(feeds);
    // The first run is a warm-up.
    if (repetition > 0) seconds.push((performance.now() - start) / 1000 / chain);
  }
  await session.release();
  return seconds;
}
