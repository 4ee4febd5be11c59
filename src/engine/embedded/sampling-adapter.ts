/** An adapter as the decode graphs take it: a pair of matrices for each matrix of the model, which several projections may share. */
import type * as ort from "onnxruntime-node";
import { floatTensor } from "../../onnx/session.ts";
import type { LoraShape } from "../engine.ts";
import { type ModelShape, parameterSpecs } from "./architecture.ts";
import { graphParameters } from "./graph-parameters.ts";
import { type AdapterParameters, adapterNames, isAdapted, loraScale } from "./lora.ts";

/** Graph inputs of an adapted parameter, e.g. `layers.0.queryKeyValue`: A [ranks, in] and B [out, ranks], the scale included. */
export const adapterInputs = (graphName: string) => ({ a: `${graphName}.adapterA`, b: `${graphName}.adapterB` });

/** The graph parameters that have an adapter, and their `ranks`: those of all adapted members together. */
export function adapterRanks(shape: ModelShape, lora: LoraShape | undefined): Map<string, number> {
  const counts = graphParameters(shape).map(
    ({ name, members }) => [name, members.filter((member) => isAdapted(lora, member)).length] as const,
  );
  return new Map(counts.flatMap(([name, count]) => (count > 0 ? [[name, count * (lora?.rank ?? 0)]] : [])));
}

/**
 * Copies of the adapter's weights as inputs: the A of all members one under the other, their B as blocks along the diagonal, so that one
 * product serves query, key and value (or gate and up), as it does in the model.
 */
export function adapterFeeds(adapter: AdapterParameters): Record<string, ort.Tensor> {
  const { shape, lora } = adapter;
  const feeds: Record<string, ort.Tensor> = {};
  const outputs = new Map(parameterSpecs(shape).map((spec) => [spec.name, spec.shape[0] as number]));
  const ranks = adapterRanks(shape, lora);
  for (const { name, shape: size, members } of graphParameters(shape)) {
    const width = ranks.get(name);
    if (width === undefined) continue;
    const [rows = 0, columns = 0] = size;
    const a = new Float32Array(width * columns);
    const b = new Float32Array(rows * width);
    let [row, rank] = [0, 0];
    for (const member of members) {
      if (isAdapted(lora, member)) {
        const names = adapterNames(member);
        a.set(adapter.view(names.a), rank * columns);
        placeBlock(adapter.view(names.b), b, { row, column: rank, width, blockWidth: lora.rank, scale: loraScale(lora) });
        rank += lora.rank;
      }
      row += outputs.get(member) as number;
    }
    const inputs = adapterInputs(name);
    feeds[inputs.a] = floatTensor(a, [width, columns]);
    feeds[inputs.b] = floatTensor(b, [rows, width]);
  }
  return feeds;
}

/** Where a block goes in a matrix of rows of `width` numbers, and what it is multiplied with. */
interface BlockPlace {
  readonly row: number;
  readonly column: number;
  readonly width: number;
  readonly blockWidth: number;
  readonly scale: number;
}

function placeBlock(block: Float32Array, target: Float32Array, { row, column, width, blockWidth, scale }: BlockPlace): void {
  block.forEach((value, index) => {
    const line = row + Math.floor(index / blockWidth);
    target[line * width + column + (index % blockWidth)] = value * scale;
  });
}
