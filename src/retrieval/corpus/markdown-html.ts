import { Lexer, marked, parser, type Token, Tokenizer } from "marked";

/** UTF-16 units of a paragraph that are parsed at once: the time for one grows with the square of its length, or worse. */
const longestPiece = 8192;
/** More marks of emphasis than this in a piece are taken as text: finding their partners takes the cube of their number. */
const mostMarks = 500;

class BoundedTokenizer extends Tokenizer {
  override emStrong(source: string, masked: string, before?: string) {
    return holdsManyMarks(source) ? undefined : super.emStrong(source, masked, before);
  }
}

class BoundedLexer extends Lexer {
  override inlineTokens(source: string, tokens: Token[] = []): Token[] {
    for (const piece of piecesOf(source)) super.inlineTokens(piece, tokens);
    return tokens;
  }
}

/** Markdown (GitHub's) as HTML, in time linear in its length. In a paragraph of more than 8,192 characters, marks apart may not be paired. */
export function markdownToHtml(markdown: string): string {
  return parser(new BoundedLexer({ ...marked.defaults, tokenizer: new BoundedTokenizer() }).lex(markdown));
}

function holdsManyMarks(text: string): boolean {
  const marks = /[*_]/g;
  for (let found = 0; found <= mostMarks; found++) if (!marks.test(text)) return false;
  return true;
}

/** Cuts at white space where there is some. */
function* piecesOf(text: string): Generator<string> {
  let start = 0;
  while (text.length - start > longestPiece) {
    const window = text.slice(start, start + longestPiece);
    const length = Math.max(window.lastIndexOf("\n"), window.lastIndexOf(" ")) + 1 || longestPiece;
    yield window.slice(0, length);
    start += length;
  }
  yield text.slice(start);
}
