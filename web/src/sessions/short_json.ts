// A JSON value in one short line, for reading: names without quotes where they need none.

/** Maximum number of characters. */
const MAX_SHORT = 160;

export function shortJson(value: unknown): string {
  const text = written(value, 0);
  return text.length > MAX_SHORT ? `${text.slice(0, MAX_SHORT - 1)}…` : text;
}

function written(value: unknown, depth: number): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'string') return JSON.stringify(value.slice(0, MAX_SHORT));
  if (typeof value !== 'object' || value === null) return String(value);
  if (depth > 3) return '…';
  if (Array.isArray(value)) return `[${value.slice(0, 12).map((one) => written(one, depth + 1)).join(', ')}]`;
  const members = Object.entries(value).slice(0, 12);
  return `{${members.map(([name, one]) => `${nameOf(name)}: ${written(one, depth + 1)}`).join(', ')}}`;
}

function nameOf(name: string): string {
  return /^[\w$]+$/.test(name) ? name : JSON.stringify(name);
}
