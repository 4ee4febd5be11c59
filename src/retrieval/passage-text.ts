import type { Document } from "../types.ts";

/** A document as one text: the title comes first unless the text already names it. What is shown to agent and ranker, and searched for answers. */
export function passageText(document: Document): string {
  const title = document.title.trim();
  if (title === "" || document.text.toLowerCase().includes(title.toLowerCase())) return document.text;
  return `${title}: ${document.text}`;
}

/** The first `characters` UTF-16 units of a text, never half a surrogate pair. */
export function cutText(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const last = text.charCodeAt(characters - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? characters - 1 : characters);
}
