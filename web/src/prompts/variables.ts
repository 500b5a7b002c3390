// The variables of a template, for the form beside the preview. It reads the tags only; the server
// renders the template and decides what is wrong with it.

export interface Variable {
  name: string;
  /** How the template uses it: as a text, as a list or as an object with members. */
  form: 'text' | 'list' | 'object';
}

/** Helpers that are called with arguments. The first word of their tags is not a variable. */
const HELPERS = new Set(['role', 'history', 'media', 'section', 'json', 'ifEquals', 'unlessEquals', 'lookup', 'log', 'concat']);
const WORDS = new Set(['this', 'true', 'false', 'null', 'undefined', 'else', 'as']);
/** Blocks inside of which bare names are members of an item. */
const SCOPES = new Set(['each', 'with']);

const TAG = /\{\{\{?~?\s*([^}]*?)\s*~?\}\}\}?/g;
const ARGUMENT = /"(?:[^"\\]|\\.)*"|'[^']*'|[^\s=()"']+=|@?[^\s()"']+/g;

/** The variables in the order of their first use. */
export function variablesOf(template: string): Variable[] {
  const found = new Map<string, Variable>();
  const scopes: string[] = [];
  const body = template.replace(/^\uFEFF?---\r?\n[^]*?\r?\n---[ \t]*(?:\r?\n|$)/, '').replace(/\{\{!--[^]*?--\}\}/g, '');
  const add = (path: string, form: Variable['form']): void => {
    const rooted = path.replace(/^@root\./, '').replace(/^(?:\.\.\/)+/, '');
    if (rooted.startsWith('@') || rooted.startsWith('.')) return;
    // Inside of `each` and `with` a bare name belongs to the item.
    const isInside = scopes.some((scope) => SCOPES.has(scope)) && rooted === path;
    const [name = '', ...members] = rooted.split(/[./]|\[/);
    if (isInside || !/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(name) || WORDS.has(name)) return;
    const known = found.get(name);
    const isPart = members.length > 0 && members[0] !== 'length';
    const wanted = isPart ? 'object' : form;
    if (!known) found.set(name, { name, form: wanted });
    else if (known.form === 'text') known.form = wanted;
  };
  for (const [, tag = ''] of body.matchAll(TAG)) {
    if (tag.startsWith('!') || tag.startsWith('>')) continue;
    const closed = /^\/\s*(\S+)/.exec(tag)?.[1];
    if (closed) {
      const at = scopes.lastIndexOf(closed);
      if (at >= 0) scopes.length = at;
      continue;
    }
    const isBlock = /^[#^]/.test(tag);
    const [first = '', ...rest] = tag.replace(/^[#^]\s*|^else\s+/, '').match(ARGUMENT) ?? [];
    const names = rest.filter((word) => !/^["'\d]|=$|^\|/.test(word)).filter((word) => !word.endsWith('|'));
    const isHelper = isBlock || HELPERS.has(first) || names.length > 0;
    if (!isHelper) add(first, 'text');
    for (const name of names) add(name, first === 'each' ? 'list' : 'text');
    // `{{#list}}…{{/list}}` without a helper is a section over a variable.
    if (isBlock && rest.length === 0) add(first, 'list');
    if (isBlock) scopes.push(first);
  }
  return [...found.values()];
}

/** The value of a field: JSON if it is JSON, else the text. `undefined` for an empty field. */
export function valueOf(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
