import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { grammarWalk } from "../../test/fixtures/training/grammar-walk.ts";
import { documents, questions, tinyRenderer } from "../../test/fixtures/training/tiny-world.ts";
import { ConfigError } from "../errors.ts";
import type { Document, Question } from "../types.ts";
import { type AgentProtocolOptions, agentProtocol } from "./agent-protocol.ts";

const renderer = tinyRenderer();
const question = questions[1] as Question;
const options: AgentProtocolOptions = {
  protocol: "cosearch",
  prompt: "compact",
  grammar: true,
  observationCharacters: 500,
  topK: 2,
  maxSearches: 3,
};
const make = (change: Partial<AgentProtocolOptions> = {}) => agentProtocol(renderer, { ...options, ...change });
const two = documents.slice(0, 2);

describe("compact style", () => {
  it("prompts with the bare question", () => {
    expect(renderer.decode(make().promptTokens(question)).replace(/\s+/g, " ")).toBe("<question> what is the capital of italy");
  });

  it("shows every passage before its label", () => {
    const text = renderer.decode(make().observationTokens(two, undefined));
    expect(text).toMatch(/^<observation>\s*the capital of norway is oslo\[1\]\s*the capital of italy is rome\[2\]<\/observation>$/);
  });

  it("puts a title in front of a text that doesn't hold it", () => {
    const text = renderer.decode(make().observationTokens([{ id: "a", title: "norway", text: "its capital is oslo" }], undefined));
    expect(text).toContain("norway: its capital is oslo[1]");
  });

  it("stops at closing tags and end-of-text tokens", () => {
    const ids = make().stop.tokenIds.map(
      (id) => renderer.tokenId("</answer>") === id || renderer.tokenId('"}}</tool_call>') === id || renderer.stopTokenIds.includes(id),
    );
    expect(ids).toEqual([true, true, true]);
    expect(make().stop.strings).toEqual([]);
  });
});

describe("observation length", () => {
  it("is cut over all documents together", () => {
    const text = renderer.decode(make({ observationCharacters: 40 }).observationTokens(two, undefined));
    expect(text).toContain("the capital of norway is oslo[1]");
    expect(text).toContain("the capital[2]");
    expect(renderer.decode(make({ observationCharacters: 29 }).observationTokens(two, undefined))).not.toContain("[2]");
  });

  it("never halves a surrogate pair", () => {
    const text = renderer.decode(
      make({ observationCharacters: 4 }).observationTokens([{ id: "a", title: "", text: "abc😀" } as Document], undefined),
    );
    expect(text).toContain("abc[1]");
  });
});

describe("full style", () => {
  it("instructs in the protocol's own tags", () => {
    // The tiny template knows no system role and prints it as it is.
    const cosearch = renderer.decode(make({ prompt: "full" }).promptTokens(question));
    expect(cosearch).toContain('<tool_call>{"name":"search"');
    expect(cosearch).toContain("at most 3 times");
    const searchR1 = renderer.decode(make({ prompt: "full", protocol: "search-r1", grammar: false }).promptTokens(question));
    expect(searchR1).toContain("<search>");
    expect(searchR1).not.toContain("tool_call");
  });

  it("wraps search-r1's observations in its own block, and says so when nothing was found", () => {
    const protocol = make({ prompt: "full", protocol: "search-r1", grammar: false });
    expect(renderer.decode(protocol.observationTokens(two, undefined))).toMatch(
      /<information>\n\[1\] ?\s*the capital of norway is oslo\s*\[2\][\s\S]*<\/information>/,
    );
    expect(renderer.decode(protocol.observationTokens([], undefined))).toContain("No documents were found.");
  });

  it("stops at strings where the vocabulary has no token for a tag", () => {
    expect(make({ protocol: "search-r1", grammar: false }).stop.strings).toEqual(["</search>"]);
  });
});

describe("grammar", () => {
  const { grammar, parse } = make();

  it("allows only well-formed turns", () => {
    const kinds = new Set<string>();
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const tokens = grammarWalk(grammar as NonNullable<typeof grammar>, renderer.vocabularySize, seed);
        const action = parse(renderer.decode(tokens));
        kinds.add(action.kind);
        expect(action.kind).not.toBe("malformed");
      }),
      { numRuns: 200 },
    );
    expect([...kinds].sort()).toEqual(["answer", "search"]);
  });

  it("is refused, naming the tag, where a tag is several tokens", () => {
    expect(() => make({ protocol: "search-r1" })).toThrow(ConfigError);
    expect(() => make({ protocol: "search-r1" })).toThrow(/agent\.grammar.*<think>/);
  });
});
