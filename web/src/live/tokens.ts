// Splits a text into the pieces that a merge keeps whole: words, runs of spaces, single marks and
// line ends. The server merges by the same pieces.

/** Characters that change the one before them: accents, variants and the joiner of emoji. */
const EXTENDS = '[\\u0300-\\u036f\\u200d\\u20e3\\ufe00-\\ufe0f\\u{1f3fb}-\\u{1f3ff}]';
/** Chinese and Japanese have no spaces between words: each character is a token. */
const IDEOGRAPH = '[\\u2e80-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{3ffff}]';

const TOKEN = new RegExp(
  [
    '\\r\\n|[\\r\\n]',
    `(?:(?!${IDEOGRAPH})[\\p{Alphabetic}\\p{N}_]${EXTENDS}*)+`,
    `(?:[^\\S\\r\\n]${EXTENDS}*)+`,
    `[^](?:${EXTENDS}|(?<=\\u200d)[^])*`,
  ].join('|'),
  'gu',
);

/** The words, spaces, marks and line ends of a text, in order. Joined they are the text. */
export function tokensOf(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

const LAST_IN_WORD = new RegExp(`(?!${IDEOGRAPH})[\\p{Alphabetic}\\p{N}_]$`, 'u');
const FIRST_IN_WORD = new RegExp(`^(?!${IDEOGRAPH})[\\p{Alphabetic}\\p{N}_]`, 'u');

/** Whether two texts need a space between them, because a word ends the first and begins the second. */
export function wouldJoinWords(left: string, right: string): boolean {
  return FIRST_IN_WORD.test(right) && LAST_IN_WORD.test(left.slice(-2));
}

/** The lines of a text with their line ends. Joined they are the text. */
export function linesOf(text: string): string[] {
  return text.match(/[^\r\n]*(?:\r\n|[\r\n])|[^\r\n]+/g) ?? [];
}
