// JSON in the least usual form that is still the same value.

/** A number that is written as given. */
class Verbatim {
  constructor(text) {
    this.text = text;
  }
}

/** An integer of these digits, however many. */
export const integer = (digits) => new Verbatim(digits);
/** The same as a float. */
export const float = (digits) => new Verbatim(`${digits}.0`);

/** How members, texts and numbers are written. */
const PLAIN = { space: '', reversed: false, escaped: false, floats: false, unknown: false };
export const ODD = { space: ' \r\n\t', reversed: true, escaped: true, floats: true, unknown: true };
/** For what has to stay on one line. */
export const ODD_LINE = { ...ODD, space: ' \t' };

/** Writes a value. `kept` is what an application has made: its members are its own. */
export function write(value, form = ODD) {
  return `${form.space}${text(value, form)}${form.space}`;
}

/** What an application has made; nothing is added to it. */
export const kept = (value) => ({ [KEPT]: value });
const KEPT = Symbol('kept');

function text(value, form) {
  if (value === null || value === undefined) return 'null';
  if (value instanceof Verbatim) return value.text;
  if (typeof value === 'object' && KEPT in value) return text(value[KEPT], { ...form, unknown: false });
  if (Array.isArray(value)) return list('[', ']', value.map((item) => text(item, form)), form);
  if (typeof value === 'object') {
    let members = Object.entries(value).filter(([, member]) => member !== undefined);
    if (form.reversed) members.reverse();
    if (form.unknown) members = [['oxikit:unknown', kept({ deep: [null, 1] })], ...members, ['', null]];
    const pairs = members.map(([name, member]) => `${string(name, form)}${form.space}:${form.space}${text(member, form)}`);
    return list('{', '}', pairs, form);
  }
  if (typeof value === 'string') return string(value, { ...form, escaped: false });
  if (Number.isInteger(value) && form.floats) return value % 10 === 0 && value ? `${value / 10}e1` : `${value}.0`;
  return JSON.stringify(value);
}

function list(open, close, items, { space }) {
  return `${open}${space}${items.join(`${space},${space}`)}${space}${close}`;
}

/** Names of members have their last letter escaped. */
function string(words, { escaped }) {
  if (!escaped || !words) return JSON.stringify(words);
  const code = words.charCodeAt(words.length - 1).toString(16).toUpperCase().padStart(4, '0');
  return `${JSON.stringify(words.slice(0, -1)).slice(0, -1)}\\u${code}"`;
}

export { PLAIN };
