import { describe, expect, it } from "vitest";
import { EndpointFailure } from "../../endpoint/endpoint-failure.ts";
import { roomAfterOverflow } from "./context-overflow.ts";
import { RefusedParameters } from "./request-body.ts";
import { cutStop, endOfFirstStop } from "./stop-end.ts";

const refusedWith = (status: number, message: string) => new EndpointFailure(`answered ${status}: ${message}`, false, status);

describe("a context that is too small", () => {
  it.each<[string, string, number]>([
    [
      "vLLM",
      "This model's maximum context length is 2048 tokens. However, you requested 3000 tokens (1976 in the messages, 1024 in the completion). Please reduce the length",
      72,
    ],
    [
      "vLLM",
      "'max_tokens' or 'max_completion_tokens' is too large: 1024. This model's maximum context length is 2048 tokens and your request has 1500 input tokens (1024 > 2048 - 1500).",
      548,
    ],
    [
      "vLLM",
      "This model's maximum context length is 2048 tokens. However, your request has 3000 input tokens. Please reduce the length of the input messages.",
      0,
    ],
    [
      "SGLang",
      "Requested token count exceeds the model's maximum context length of 2048 tokens. You requested a total of 2500 tokens: 1500 tokens from the input messages and 1000 tokens for the completion.",
      548,
    ],
    ["SGLang", "The input (9000 tokens) is longer than the model's context length (4096 tokens).", 0],
    ["llama.cpp", "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it", 0],
    [
      "TGI",
      "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`",
      0,
    ],
  ])("is known from %s: %s", (_, message, room) => {
    expect(roomAfterOverflow(refusedWith(400, message))).toBe(room);
  });

  it("is not seen in other failures", () => {
    expect(roomAfterOverflow(refusedWith(400, "stop: expected a list"))).toBeUndefined();
    expect(roomAfterOverflow(refusedWith(500, "maximum context length is 2048 tokens"))).toBeUndefined();
    expect(roomAfterOverflow(new EndpointFailure("no connection", true))).toBeUndefined();
  });
});

describe("refused parameters", () => {
  const body = {
    model: "m",
    max_tokens: 5,
    seed: 1,
    stop: ["x"],
    temperature: 0,
    include_stop_str_in_output: true,
    return_token_ids: true,
  };
  it.each<[string, string, object]>([
    [
      "OpenAI",
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      { max_completion_tokens: 5 },
    ],
    [
      "OpenAI",
      "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
      { temperature: undefined },
    ],
    ["OpenAI", "Unrecognized request argument supplied: include_stop_str_in_output", { include_stop_str_in_output: undefined, seed: 1 }],
    [
      "Mistral",
      '[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted"}]',
      { seed: undefined, stop: ["x"] },
    ],
    [
      "others",
      "Extra inputs are not permitted",
      { include_stop_str_in_output: undefined, return_token_ids: undefined, seed: 1, stop: ["x"] },
    ],
  ])("of %s are left out or renamed from then on: %s", (_, message, expected) => {
    const refused = new RefusedParameters();
    expect(refused.learn(refusedWith(400, message), refused.fit(body))).toBe(true);
    expect(refused.fit(body)).toMatchObject(Object.fromEntries(Object.entries(expected).filter(([, value]) => value !== undefined)));
    for (const [name, value] of Object.entries(expected)) if (value === undefined) expect(refused.fit(body)).not.toHaveProperty(name);
    // The same refusal of a body that went without is about something else.
    expect(refused.learn(refusedWith(400, message), refused.fit(body))).toBe(false);
  });

  it("are told where outputs may depend on them, once", () => {
    const notices: string[] = [];
    const refused = new RefusedParameters((message) => notices.push(message));
    const failure = refusedWith(422, "unknown field seed");
    refused.learn(failure, body);
    refused.learn(failure, body);
    refused.learn(refusedWith(422, "unknown field stop"), body);
    expect(notices).toEqual(["the server takes no seed: requests go without it"]);
  });

  it("are no matter of bad values or other statuses", () => {
    const refused = new RefusedParameters();
    expect(refused.learn(refusedWith(400, "temperature must be at most 2"), body)).toBe(false);
    expect(refused.learn(refusedWith(500, "unknown field seed"), body)).toBe(false);
    expect(refused.fit(body)).toEqual(body);
  });
});

describe("stop strings", () => {
  const stops = ["</tool_call>", "</answer>"];
  it("end a text where the first of them ends", () => {
    expect(endOfFirstStop("<answer>a</answer> and </tool_call>", stops)).toBe("<answer>a</answer>".length);
    expect(endOfFirstStop("<answer>a", stops)).toBeUndefined();
  });

  it.each<[string, unknown, boolean, string | undefined]>([
    ["<answer>a", "</answer>", false, "</answer>"],
    ["<answer>a", "other", false, undefined],
    ["<answer>a", null, false, undefined],
    ["<answer>a", 151645, false, undefined],
    ["<reason>r</reason><answer>a", undefined, false, "</answer>"],
    ["<answer>a</answer><tool_call>b", undefined, false, "</tool_call>"],
    ["<answer>a</answer>", undefined, false, undefined],
    ["no block at all", undefined, false, undefined],
  ])("that a server cut off %j, which it tells as %j, are found", (text, reported, byString, expected) => {
    expect(cutStop({ text, stops, reported, byString })).toBe(expected);
  });

  it("are certain where there is one and no other end was sampled", () => {
    expect(cutStop({ text: "a", stops: ["END"], reported: undefined, byString: true })).toBe("END");
    expect(cutStop({ text: "a", stops: ["END"], reported: undefined, byString: false })).toBeUndefined();
  });
});
