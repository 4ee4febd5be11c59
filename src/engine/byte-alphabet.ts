/**
 * The byte alphabet of byte-level BPE: each of the 256 bytes is one printable character (GPT-2's table): printable Latin-1
 * bytes stand for themselves, the others are moved to U+0100 and up. Indexed by byte.
 */
export const byteAlphabet: readonly string[] = makeByteAlphabet();

function makeByteAlphabet(): string[] {
  const printable = (byte: number) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let moved = 0;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : 256 + moved++));
}
