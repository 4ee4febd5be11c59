/** HTML by tagged template: everything interpolated is escaped, since questions, passages and model output are data. */

/** Markup that is already safe to insert. Only `html` and `trusted` make it. */
export class Html {
  constructor(readonly markup: string) {}
  toString(): string {
    return this.markup;
  }
}

/** What a template may hold. */
export type HtmlValue = Html | string | number | undefined | false | readonly HtmlValue[];

/** Markup from a template; strings and numbers are escaped, lists are joined, undefined and false vanish. */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let markup = parts[0] as string;
  for (const [index, value] of values.entries()) markup += render(value) + (parts[index + 1] as string);
  return new Html(markup);
}

/** Text that the program itself wrote (style sheets), inserted as it is. */
export function trusted(markup: string): Html {
  return new Html(markup);
}

function render(value: HtmlValue): string {
  if (value === undefined || value === false) return "";
  if (value instanceof Html) return value.markup;
  if (Array.isArray(value)) return value.map(render).join("");
  return escapeText(String(value));
}

/** Safe in element content and in quoted attributes; characters that no HTML document may hold are replaced. */
function escapeText(text: string): string {
  return (
    text
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;")
      .replaceAll("'", "&#39;")
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, "\ufffd")
  );
}
