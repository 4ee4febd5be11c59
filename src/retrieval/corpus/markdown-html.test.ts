import { marked } from "marked";
import { describe, expect, it } from "vitest";
import { markdownToHtml } from "./markdown-html.ts";

describe("markdownToHtml", () => {
  it("says what marked says of paragraphs of common length", () => {
    const text = "# Title\n\n*a* **b** snake_case `c` [d](e) ~~f~~\n\n- g\n- h\n\n| i | j |\n|---|---|\n| *k* | l |\n\n> m\n";
    expect(markdownToHtml(text)).toBe(marked.parse(text, { async: false }));
  });

  it("loses nothing of a paragraph that is parsed in pieces", () => {
    const html = markdownToHtml("there are some more words *in* this text ".repeat(5_000));
    expect(html.match(/words <em>in<\/em> this text/g)).toHaveLength(5_000);
    expect(markdownToHtml("x".repeat(20_000))).toBe(`<p>${"x".repeat(20_000)}</p>\n`);
  });

  it.each(["*a_", "a_"])("takes no cube of the number of marks: %s", (marks) => {
    const started = performance.now();
    expect(markdownToHtml(marks.repeat(10_000))).toContain("a");
    expect(performance.now() - started).toBeLessThan(8_000);
  });
});
