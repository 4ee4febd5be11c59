import { describe, expect, it } from "vitest";
import { answerAsWritten, keyWords, plainTitle, quoteOf, writable } from "./evidence.ts";

describe("quoteOf", () => {
  const passage = "It was cold. The old town of Bergen lies by the sea, far from Oslo and from all the others. Nobody knew.";
  it("quotes the sentence that holds the answer, and no more words than asked for", () => {
    expect(quoteOf(passage, ["bergen"], 40)).toBe("The old town of Bergen lies by the sea, far from Oslo and from all the others.");
    expect(quoteOf(passage, ["oslo"], 4)).toBe("sea, far from Oslo");
    expect(quoteOf(passage, ["lima"], 4)).toBeUndefined();
  });
});

describe("answerAsWritten", () => {
  it("takes the passage's spelling of the first answer that it spells", () => {
    expect(answerAsWritten("She came from TROMSØ.", ["Tromso", "Tromsø"])).toBe("TROMSØ");
    expect(answerAsWritten("a man named Osloson", ["oslo"])).toBe("oslo");
  });
});

describe("keyWords, plainTitle, writable", () => {
  it("keep what a query needs", () => {
    expect(keyWords("Who is the mother of the singer of Orion's song?", "Orion's", 2)).toBe("mother singer");
    expect(plainTitle("Devotion (1929 film)")).toBe("Devotion");
    expect(writable('a <b>\n "c"')).toBe('a b "c"');
    expect(writable('a "c"\\d', true)).toBe("a c d");
  });
});
