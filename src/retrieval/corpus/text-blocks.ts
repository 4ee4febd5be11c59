import { compile, type Formatter, type HtmlElement } from "html-to-text";
import { parse } from "yaml";
import type { TextBlock } from "./cut-passages.ts";
import { markdownToHtml } from "./markdown-html.ts";

/** A text as its blocks, and the title that it gives itself. */
export interface StructuredText {
  readonly title?: string;
  readonly blocks: readonly TextBlock[];
}

/** Marks the line of a heading in the converted text; taken out of the input, which has no business with it. */
const headingMark = "\u0001";

const heading: Formatter = (element, walk, builder) => {
  builder.openBlock({ leadingLineBreaks: 2 });
  builder.addLiteral(headingMark);
  walk(element.children, builder);
  builder.closeBlock({ trailingLineBreaks: 2 });
};

/** The title goes to the caller's note instead of the text. */
const documentTitle: Formatter = (element, _walk, builder) => {
  (builder.metadata as { title?: string }).title ??= plainText(element);
};

/** Cells would otherwise run into one another. */
const cell: Formatter = (element, walk, builder) => {
  walk(element.children, builder);
  builder.addInline(" ");
};

const leftOut = ["script", "style", "nav", "template", "noscript", "svg", "iframe", "img", "hr", "a.headerlink", "[hidden]"];
const blockElements = "address caption dd details dl dt fieldset figcaption figure section summary tbody thead tr".split(" ");

const convert = compile({
  wordwrap: false,
  baseElements: { selectors: [] },
  limits: { maxInputLength: undefined },
  formatters: { headingBlock: heading, documentTitle, cell },
  selectors: [
    ...leftOut.map((selector) => ({ selector, format: "skip" })),
    ...blockElements.map((selector) => ({ selector, format: "block" })),
    ...["h1", "h2", "h3", "h4", "h5", "h6"].map((selector) => ({ selector, format: "headingBlock" })),
    ...["td", "th"].map((selector) => ({ selector, format: "cell" })),
    { selector: "title", format: "documentTitle" },
    { selector: "a", options: { ignoreHref: true } },
    { selector: "ul", options: { itemPrefix: "- " } },
  ],
});

/** HTML: scripts, styles, navigation and pictures left out; the title is that of the page, or else its first heading. */
export function htmlBlocks(html: string): StructuredText {
  const note: { title?: string } = {};
  const lines = convert(html.replaceAll(headingMark, ""), note).split("\n");
  const blocks = lines
    .map((line) => ({ text: line.replaceAll(headingMark, "").trim(), heading: line.includes(headingMark) }))
    .filter(({ text }) => text !== "");
  const title = note.title || blocks.find((block) => block.heading)?.text;
  return { blocks, ...(title === undefined ? {} : { title }) };
}

/** Markdown: the title is that of the YAML front matter, or else the first heading. The front matter is no part of the text. */
export function markdownBlocks(markdown: string): StructuredText {
  const { fields, body } = frontMatter(markdown);
  const structured = htmlBlocks(markdownToHtml(body));
  const { title } = fields;
  return typeof title === "string" && title.trim() !== "" ? { ...structured, title: title.trim() } : structured;
}

/** Plain text: blocks are separated by blank lines; the lines of a block are one paragraph. */
export function plainBlocks(text: string): StructuredText {
  return { blocks: text.split(/\n[^\S\n]*\n/).map((block) => ({ text: block })) };
}

/** What stands between two lines of `---` at the start counts as front matter when it is a YAML mapping, or else as text. */
function frontMatter(markdown: string): { readonly fields: { readonly title?: unknown }; readonly body: string } {
  const [block, yaml = ""] = /^---[ \t]*\n(?:(.*?)\n)??(?:---|\.\.\.)[ \t]*(?:\n|$)/s.exec(markdown) ?? [];
  if (block !== undefined) {
    try {
      const fields: unknown = parse(yaml, { logLevel: "error" });
      if (typeof fields === "object" && fields !== null && !Array.isArray(fields)) return { fields, body: markdown.slice(block.length) };
    } catch {
      // Not YAML: text between two rules.
    }
  }
  return { fields: {}, body: markdown };
}

function plainText(element: HtmlElement): string {
  const inner = (node: HtmlElement): string => (node.type === "text" ? (node.data ?? "") : (node.children ?? []).map(inner).join(""));
  return inner(element).replace(/\s+/gu, " ").trim();
}
