/**
 * Reverse-mode differentiation of ONNX graphs: operators add their forward nodes at once and record how to add their
 * backward nodes; `backward()` adds those in reverse order. The result is one ordinary graph, weights in, gradients out.
 */
import { type Attribute, type Dimension, GraphBuilder, type Value } from "../../onnx/onnx-model.ts";

/** The graph input that holds a parameter's gradient so far; its graph output (same memory) is `gradientName`. */
export function accumulatedName(parameter: string): string {
  return `accumulated.${parameter}`;
}

/** The graph output that holds the gradient of a parameter. */
export function gradientName(parameter: string): string {
  return `gradient.${parameter}`;
}

/** A graph under construction and what its backward pass will be. */
export class Tape {
  readonly graph = new GraphBuilder();
  private readonly steps: (() => void)[] = [];
  private readonly gradients = new Map<Value, Value>();
  private readonly tracked = new Set<Value>();
  private readonly parameters: { readonly name: string; readonly dimensions: readonly Dimension[] }[] = [];

  /** @param differentiate false: forward nodes only, nothing is tracked. */
  constructor(readonly differentiate = true) {}

  /** Adds a node of one output. */
  apply(operator: string, inputs: readonly Value[], attributes: Readonly<Record<string, Attribute>> = {}, domain = ""): Value {
    return this.graph.apply(operator, inputs, attributes, domain);
  }

  /**
   * A float input whose gradient is wanted. Gradients add up over runs without a further pass over memory: what has been
   * accumulated so far is an input, and the first product of the backward pass starts from it.
   */
  parameter(name: string, dimensions: readonly Dimension[]): Value {
    this.graph.input(name, "float", dimensions);
    if (!this.differentiate) return name;
    this.tracked.add(name);
    this.gradients.set(name, this.graph.input(accumulatedName(name), "float", dimensions));
    this.parameters.push({ name, dimensions });
    return name;
  }

  /** Asks for the gradient of a value that is not a parameter (an input activation). */
  track(value: Value): void {
    if (this.differentiate) this.tracked.add(value);
  }

  isTracked(value: Value): boolean {
    return this.tracked.has(value);
  }

  /** Records how the gradient of `output` flows on to `inputs`; a no-op when none of them is tracked. */
  record(inputs: readonly Value[], output: Value, backward: (gradient: Value) => void): Value {
    if (!inputs.some((input) => this.tracked.has(input))) return output;
    this.tracked.add(output);
    this.steps.push(() => {
      const gradient = this.gradients.get(output);
      if (gradient !== undefined) backward(gradient);
    });
    return output;
  }

  /** Adds `gradient` to the gradient of `value`. */
  accumulate(value: Value, gradient: Value): void {
    if (!this.tracked.has(value)) return;
    const known = this.gradients.get(value);
    this.gradients.set(value, known === undefined ? gradient : this.apply("Add", [known, gradient]));
  }

  /** Adds the product of two matrices to the gradient of `value`, in one Gemm. */
  accumulateProduct(value: Value, left: Value, right: Value, attributes: Readonly<Record<string, Attribute>> = {}): void {
    if (!this.tracked.has(value)) return;
    const known = this.gradients.get(value);
    this.gradients.set(value, this.apply("Gemm", known === undefined ? [left, right] : [left, right, known], attributes));
  }

  /** Replaces the gradient of `value`: the starting point of `backward()`, or a composite operator's own result. */
  setGradient(value: Value, gradient: Value): void {
    this.gradients.set(value, gradient);
  }

  /** The gradient that has reached `value` so far, if any. */
  knownGradient(value: Value): Value | undefined {
    return this.gradients.get(value);
  }

  /** The gradient of `value`. @throws Error when none reaches it. */
  gradient(value: Value): Value {
    const gradient = this.gradients.get(value);
    if (gradient === undefined) throw new Error(`no gradient reaches ${value}`);
    return gradient;
  }

  /** Adds all backward nodes, and an output `gradient.<name>` for every parameter. */
  backward(): void {
    for (let index = this.steps.length - 1; index >= 0; index--) this.steps[index]?.();
    for (const { name, dimensions } of this.parameters) {
      this.graph.node("Identity", [this.gradient(name)], [gradientName(name)]);
      this.graph.output(gradientName(name), "float", dimensions);
    }
  }
}
