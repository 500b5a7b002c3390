// The editor knows only `\n`. A document may have `\r\n`, or both: these functions translate, so
// that an edit changes no line end that it does not touch.

import { difference } from './diff';
import { tokensOf } from './tokens';

/** The text with `\n` at the end of every line. */
export function toEditor(text: string): string {
  return text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
}

/**
 * An edited text with the line ends of the document that it was made from. New lines get the line
 * end that the document has most.
 */
export function toDocument(document: string, edited: string): string {
  if (!document.includes('\r')) return edited;
  const own = tokensOf(document);
  const { tokens, edits } = difference(toEditor(document), edited);
  const isCrLf = document.split('\r\n').length * 2 > document.split(/\r\n|[\r\n]/).length;
  const withEnds = (text: string): string => (isCrLf ? text.replace(/\n/g, '\r\n') : text);
  // Both texts have the same tokens but for the line ends, unless the texts differ too much.
  if (tokens.length !== own.length) return withEnds(edited);
  const out: string[] = [];
  let at = 0;
  for (const edit of edits) {
    out.push(...own.slice(at, edit.from), withEnds(edit.insert.join('')));
    at = edit.to;
  }
  out.push(...own.slice(at));
  return out.join('');
}
