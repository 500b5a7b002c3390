// JSON as people read it.

import { parseJson, writeJson } from '../form/json_text';

/** JSON with indentation; a text that is not JSON stays as it is. */
export function pretty(text: string): string {
  const parsed = parseJson(text);
  return parsed.ok ? writeJson(parsed.value) : text;
}
