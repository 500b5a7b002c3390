// JSON as text: where it is broken, and what a field of any value means.

export type ParsedJson = { ok: true; value: unknown } | { ok: false; at: number; line: number; message: string };

/** Reads JSON. An error says where it is, in the same words in every browser. */
export function parseJson(text: string): ParsedJson {
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch {
    const { at, message } = new Scanner(text).firstError();
    return { ok: false, at, line: text.slice(0, at).split('\n').length, message };
  }
}

/** The text of a value, indented. A missing value is an empty text. */
export function writeJson(value: unknown): string {
  return value === undefined ? '' : (JSON.stringify(value, null, 2) ?? '');
}

/**
 * The text of a value in a field for any value. A text that is not JSON stands for itself, so that
 * nothing that was typed is lost: `valueOfText(textOfValue(value))` is `value`.
 */
export function textOfValue(value: unknown): string {
  if (typeof value === 'string' && value !== '' && !parseJson(value).ok) return value;
  return writeJson(value);
}

/** The value of such a text; `undefined` for an empty one. */
export function valueOfText(text: string): unknown {
  if (text.trim() === '') return undefined;
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : text;
}

class JsonError extends Error {
  constructor(
    message: string,
    readonly at: number,
  ) {
    super(message);
  }
}

/** Maximum depth of values; browsers have their own limit. */
const MAX_DEPTH = 2_000;

class Scanner {
  #at = 0;

  constructor(readonly text: string) {}

  firstError(): { at: number; message: string } {
    try {
      this.#space();
      if (this.#at >= this.text.length) this.#fail('a value is missing');
      this.#value(0);
      this.#space();
      if (this.#at < this.text.length) this.#fail('something follows after the end of the value');
    } catch (error) {
      if (error instanceof JsonError) return { at: Math.min(error.at, this.text.length), message: error.message };
    }
    return { at: this.text.length, message: 'this is not JSON' };
  }

  #fail(message: string, at = this.#at): never {
    throw new JsonError(message, at);
  }

  #space(): void {
    while (/[ \t\n\r]/.test(this.text[this.#at] ?? '')) this.#at += 1;
  }

  #value(depth: number): void {
    if (depth > MAX_DEPTH) this.#fail('the value is nested too deeply');
    this.#space();
    const first = this.text[this.#at];
    if (first === undefined) this.#fail('a value is missing');
    if (first === '{') this.#members(depth, '}');
    else if (first === '[') this.#members(depth, ']');
    else if (first === '"') this.#string();
    else this.#word();
  }

  #members(depth: number, end: '}' | ']'): void {
    const start = this.#at;
    this.#at += 1;
    for (let isFirst = true; ; isFirst = false) {
      this.#space();
      const next = this.text[this.#at];
      if (next === undefined) this.#fail(`${end === '}' ? 'this object' : 'this list'} is not closed by ${end}`, start);
      if (next === end && isFirst) break;
      if (end === '}') {
        if (next !== '"') this.#fail(next === '}' ? 'a comma before } is not allowed' : 'a name in double quotes is expected');
        this.#string();
        this.#space();
        if (this.text[this.#at] !== ':') this.#fail('a colon is expected after the name');
        this.#at += 1;
      } else if (next === ']') this.#fail('a comma before ] is not allowed');
      this.#value(depth + 1);
      this.#space();
      const after = this.text[this.#at];
      if (after === end) break;
      if (after === undefined) this.#fail(`${end === '}' ? 'this object' : 'this list'} is not closed by ${end}`, start);
      if (after !== ',') this.#fail(`a comma or ${end} is expected`);
      this.#at += 1;
    }
    this.#at += 1;
  }

  #string(): void {
    const start = this.#at;
    for (this.#at += 1; ; this.#at += 1) {
      const character = this.text[this.#at];
      if (character === undefined || character === '\n') this.#fail('this text is not closed by a quote', start);
      if (character < ' ') this.#fail('this character must be written as an escape such as \\t');
      if (character === '"') break;
      if (character !== '\\') continue;
      this.#at += 1;
      const escape = this.text[this.#at] ?? '';
      const isCode = escape === 'u' && /^[0-9a-fA-F]{4}$/.test(this.text.slice(this.#at + 1, this.#at + 5));
      if (isCode) this.#at += 4;
      else if (!'"\\/bfnrt'.includes(escape) || escape === '') this.#fail('this escape is not known', this.#at - 1);
    }
    this.#at += 1;
  }

  #word(): void {
    const rest = this.text.slice(this.#at, this.#at + 400);
    const word = /^(?:true|false|null)(?![\w$])|^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w$.])/.exec(rest);
    if (!word) this.#fail(rest.startsWith("'") ? 'texts are in double quotes' : 'this is not a JSON value; texts are in double quotes');
    this.#at += word[0].length;
  }
}
