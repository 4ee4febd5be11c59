/** The part of html-to-text (which ships no types) that is used here. */
declare module "html-to-text" {
  export interface HtmlElement {
    readonly children: readonly HtmlElement[];
    readonly type: string;
    readonly data?: string;
  }
  export interface TextBuilder {
    readonly metadata: unknown;
    openBlock(options: { leadingLineBreaks: number }): void;
    closeBlock(options: { trailingLineBreaks: number }): void;
    addInline(text: string): void;
    addLiteral(text: string): void;
  }
  export type Formatter = (
    element: HtmlElement,
    walk: (children: readonly HtmlElement[], builder: TextBuilder) => void,
    builder: TextBuilder,
    options: Readonly<Record<string, unknown>>,
  ) => void;
  export interface HtmlToTextOptions {
    readonly wordwrap?: number | false;
    readonly baseElements?: { readonly selectors: readonly string[] };
    readonly limits?: { readonly maxInputLength?: number | undefined };
    readonly formatters?: Readonly<Record<string, Formatter>>;
    readonly selectors?: readonly {
      readonly selector: string;
      readonly format?: string;
      readonly options?: Readonly<Record<string, unknown>>;
    }[];
  }
  export function compile(options: HtmlToTextOptions): (html: string, metadata?: unknown) => string;
}
