// Colours of a prompt: inclusions `[[name]]`, template tags `{{…}}`, front matter, and the few marks
// of Markdown that help to read. It is not a parser: the server decides what a text means.

import { HighlightStyle, StreamLanguage, syntaxHighlighting, type StringStream } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import { Tag } from '@lezer/highlight';

const tag = {
  inclusion: Tag.define(),
  templateVariable: Tag.define(),
  control: Tag.define(),
  role: Tag.define(),
  comment: Tag.define(),
  key: Tag.define(),
  mark: Tag.define(),
  heading: Tag.define(),
  strong: Tag.define(),
  code: Tag.define(),
};

interface Place {
  /** Front matter is possible on the first line only. */
  isFirst: boolean;
  isFrontMatter: boolean;
  isFence: boolean;
  isHeading: boolean;
}

const RULE = /^---[ \t]*$/;

function token(stream: StringStream, place: Place): string | null {
  if (stream.sol()) {
    const wasFirst = place.isFirst;
    place.isFirst = false;
    place.isHeading = false;
    if ((wasFirst || place.isFrontMatter) && stream.match(RULE)) {
      place.isFrontMatter = wasFirst;
      return 'mark';
    }
  }
  if (place.isFrontMatter) return frontMatter(stream);
  return body(stream, place);
}

function frontMatter(stream: StringStream): string | null {
  if (stream.eatSpace()) return null;
  if (stream.match(/^#.*/)) return 'comment';
  if (stream.match(/^[\w.$/-]+(?=\??(?:\([^)]*\))?\s*:)/)) return 'key';
  if (stream.match(/^"(?:[^"\\]|\\.)*"|^'[^']*'/)) return 'code';
  stream.match(/^[^\s]+/);
  return null;
}

function body(stream: StringStream, place: Place): string | null {
  if (stream.sol()) {
    if (stream.match(/^\s*(?:```|~~~).*/)) {
      place.isFence = !place.isFence;
      return 'mark';
    }
    place.isHeading = !place.isFence && stream.match(/^#{1,6}\s/, false) !== null;
  }
  // Inclusions and tags count in code fences too.
  if (stream.match(/^\[\[[^\]\n]+\]\]/)) return 'inclusion';
  if (stream.match(/^\{\{\{?~?!(?:--.*?--|[^}]*)~?\}\}\}?/)) return 'comment';
  if (stream.match(/^\{\{\{?~?\s*(?:[#/^]|else\b)[^}]*\}\}\}?/)) return 'control';
  if (stream.match(/^\{\{~?\s*(?:role|history|media|section)\b[^}]*\}\}/)) return 'role';
  if (stream.match(/^\{\{~?\s*>[^}]*\}\}/)) return 'inclusion';
  if (stream.match(/^\{\{\{?[^}]*\}\}\}?/)) return 'templateVariable';
  if (place.isFence) return rest(stream, /^[^[{]+/, 'code');
  if (stream.match(/^`[^`\n]+`/)) return 'code';
  if (stream.match(/^\*\*[^*\n]+\*\*/)) return 'strong';
  return rest(stream, /^[^[{`*]+/, place.isHeading ? 'heading' : null);
}

/** Takes everything up to the next character that may begin something. */
function rest(stream: StringStream, plain: RegExp, style: string | null): string | null {
  if (!stream.match(plain)) stream.next();
  return style;
}

const language = StreamLanguage.define<Place>({
  name: 'prompt',
  startState: () => ({ isFirst: true, isFrontMatter: false, isFence: false, isHeading: false }),
  blankLine: (place) => {
    place.isFirst = false;
  },
  token,
  tokenTable: tag,
  languageData: { closeBrackets: { brackets: ['[', '{'] } },
});

const style = HighlightStyle.define([
  { tag: tag.inclusion, color: 'var(--accent)', fontWeight: '550', textDecoration: 'underline dotted', textUnderlineOffset: '3px' },
  { tag: tag.templateVariable, color: 'var(--run)' },
  { tag: tag.control, color: 'var(--wait)' },
  { tag: tag.role, color: 'var(--wait)', fontWeight: '600' },
  { tag: tag.comment, color: 'var(--text-3)', fontStyle: 'italic' },
  { tag: tag.key, color: 'var(--run)' },
  { tag: tag.mark, color: 'var(--text-3)' },
  { tag: tag.heading, fontWeight: '650' },
  { tag: tag.strong, fontWeight: '650' },
  { tag: tag.code, color: 'var(--ok)' },
]);

/** The language of prompts, with its colours. */
export function promptLanguage(): Extension {
  return [language, syntaxHighlighting(style)];
}
