/**
 * Writes ONNX models by hand: the few protobuf messages that a graph of nodes needs (onnx.proto: ModelProto, GraphProto,
 * NodeProto, AttributeProto, TensorProto, ValueInfoProto), so that no converter and no Python is involved.
 */

/** Opset of the default domain; `com.microsoft` is imported at version 1. */
export const opsetVersion = 21;
/** The domain of onnxruntime's own operators (FusedMatMul, RotaryEmbedding, QuickGelu, ...). */
export const microsoft = "com.microsoft";

const elementTypes = { float: 1, uint8: 2, int32: 6, int64: 7, bool: 9 } as const;
/** Element type of a graph's value. */
export type ElementType = keyof typeof elementTypes;

/** A fixed size or the name of a symbolic one. */
export type Dimension = number | string;

/** An integer, integers, a string, or floats (marked, because 1 and 1.0 are the same number here). */
export type Attribute = number | readonly number[] | string | { readonly float: number };

/** The name of a value in a graph: an input, a constant or a node's output. */
export type Value = string;

const textEncoder = new TextEncoder();

/** One protobuf message under construction. */
class Message {
  private bytes = new Uint8Array(64);
  private length = 0;

  private reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(this.bytes.length * 2, this.length + count));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }

  private varint(value: number): void {
    this.reserve(10);
    let rest = BigInt.asUintN(64, BigInt(value));
    while (rest > 127n) {
      this.bytes[this.length++] = Number(rest & 127n) | 128;
      rest >>= 7n;
    }
    this.bytes[this.length++] = Number(rest);
  }

  integer(field: number, value: number): this {
    this.varint(field << 3);
    this.varint(value);
    return this;
  }

  float(field: number, value: number): this {
    this.varint((field << 3) | 5);
    this.reserve(4);
    new DataView(this.bytes.buffer).setFloat32(this.length, value, true);
    this.length += 4;
    return this;
  }

  data(field: number, value: Uint8Array): this {
    this.varint((field << 3) | 2);
    this.varint(value.length);
    this.reserve(value.length);
    this.bytes.set(value, this.length);
    this.length += value.length;
    return this;
  }

  text(field: number, value: string): this {
    return this.data(field, textEncoder.encode(value));
  }

  message(field: number, value: Message): this {
    return this.data(field, value.finish());
  }

  finish(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }
}

function attributeMessage(name: string, attribute: Attribute): Message {
  const message = new Message().text(1, name);
  if (typeof attribute === "number") return message.integer(3, attribute).integer(20, 2);
  if (typeof attribute === "string") return message.text(4, attribute).integer(20, 3);
  if ("float" in attribute) return message.float(2, attribute.float).integer(20, 1);
  for (const item of attribute) message.integer(8, item);
  return message.integer(20, 7);
}

function valueMessage(name: string, type: ElementType, dimensions: readonly Dimension[]): Message {
  const shape = new Message();
  for (const dimension of dimensions) {
    shape.message(1, typeof dimension === "number" ? new Message().integer(1, dimension) : new Message().text(2, dimension));
  }
  const tensorType = new Message().integer(1, elementTypes[type]).message(2, shape);
  return new Message().text(1, name).message(2, new Message().message(1, tensorType));
}

function constantBytes(type: ElementType, values: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(values.length * (type === "int64" ? 8 : type === "bool" || type === "uint8" ? 1 : 4));
  const view = new DataView(bytes.buffer);
  values.forEach((value, index) => {
    if (type === "float") view.setFloat32(index * 4, value, true);
    else if (type === "int32") view.setInt32(index * 4, value, true);
    else if (type === "int64") view.setBigInt64(index * 8, BigInt(value), true);
    else view.setUint8(index, value);
  });
  return bytes;
}

/** Builds one model: declare inputs, add nodes (in topological order), declare outputs, `build()`. */
export class GraphBuilder {
  private readonly graph = new Message();
  private readonly tail = new Message();
  private readonly constants = new Map<string, Value>();
  private values = 0;
  private nodes = 0;

  /** Declares a graph input and returns its name. */
  input(name: string, type: ElementType, dimensions: readonly Dimension[]): Value {
    this.tail.message(11, valueMessage(name, type, dimensions));
    return name;
  }

  /** Declares `name`, the output of some node, as a graph output. */
  output(name: string, type: ElementType, dimensions: readonly Dimension[]): Value {
    this.tail.message(12, valueMessage(name, type, dimensions));
    return name;
  }

  /** A constant tensor; equal constants are stored once. No dimensions: a scalar. */
  constant(type: ElementType, dimensions: readonly number[], values: readonly number[]): Value {
    const key = `${type}[${dimensions.join()}]:${values.join()}`;
    const known = this.constants.get(key);
    if (known !== undefined) return known;
    const name = this.data(`constant${this.constants.size}`, type, dimensions, constantBytes(type, values));
    this.constants.set(key, name);
    return name;
  }

  /** A constant tensor over its bytes, little-endian, under a name of its own. */
  data(name: string, type: ElementType, dimensions: readonly number[], bytes: Uint8Array): Value {
    const tensor = new Message();
    for (const dimension of dimensions) tensor.integer(1, dimension);
    this.tail.message(5, tensor.integer(2, elementTypes[type]).text(8, name).data(9, bytes));
    return name;
  }

  /** A float scalar. */
  scalar(value: number): Value {
    return this.constant("float", [], [value]);
  }

  /** A list of int64, e.g. a shape or axes. */
  integers(...values: number[]): Value {
    return this.constant("int64", [values.length], values);
  }

  /**
   * Adds a node. `outputs`: how many fresh values, or their names (an empty name leaves an output out, as in ONNX).
   * An empty input name leaves an optional input out.
   */
  node(
    operator: string,
    inputs: readonly Value[],
    outputs: number | readonly string[] = 1,
    attributes: Readonly<Record<string, Attribute>> = {},
    domain = "",
  ): Value[] {
    const names = typeof outputs === "number" ? Array.from({ length: outputs }, () => `value${this.values++}`) : [...outputs];
    const message = new Message();
    for (const input of inputs) message.text(1, input);
    for (const name of names) message.text(2, name);
    message.text(3, `${operator}${this.nodes++}`).text(4, operator);
    for (const [name, attribute] of Object.entries(attributes)) message.message(5, attributeMessage(name, attribute));
    if (domain !== "") message.text(7, domain);
    this.graph.message(1, message);
    return names;
  }

  /** Adds a node of one output and returns it. */
  apply(operator: string, inputs: readonly Value[], attributes: Readonly<Record<string, Attribute>> = {}, domain = ""): Value {
    return this.node(operator, inputs, 1, attributes, domain)[0] as Value;
  }

  /** The serialised ModelProto. The builder must not be used afterwards. */
  build(): Uint8Array {
    const opset = (domain: string, version: number) => new Message().text(1, domain).integer(2, version);
    const graph = new Message().text(2, "graph");
    const nodes = this.graph.finish();
    const tail = this.tail.finish();
    const header = graph.finish();
    const whole = new Uint8Array(header.length + nodes.length + tail.length);
    whole.set(header, 0);
    whole.set(nodes, header.length);
    whole.set(tail, header.length + nodes.length);
    return new Message()
      .integer(1, 10)
      .text(2, "cosearch")
      .data(7, whole)
      .message(8, opset("", opsetVersion))
      .message(8, opset(microsoft, 1))
      .finish()
      .slice();
  }
}
