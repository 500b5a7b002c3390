// Colours of people: the same person has the same colour in the header and in the text.

/** Number of colours, `--person-0` and so on in the style sheet. */
const COUNT = 5;

/** The colour of a connection. */
export function colourOf(session: string): number {
  let sum = 0;
  for (const character of session) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
  return sum % COUNT;
}
