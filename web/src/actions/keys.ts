// Keys of actions, `/flow/hello`, and their places in the URL, `#/actions/flow/hello`.

import type { ActionDescriptor } from '../api/tools_types';
import { kindOfKey } from '../ui/kinds';

/** The segments of the place of an action, for `place.open` and `placeHref`. */
export function actionPath(key: string): string[] {
  const parts = key.split('/').filter(Boolean);
  return ['actions', ...(`/${parts.join('/')}` === key ? parts : [key])];
}

/** The key in the segments after `actions`; `null` for the list. */
export function keyOfPlace(rest: readonly string[]): string | null {
  const [first] = rest;
  if (first === undefined) return null;
  return rest.length === 1 && first.startsWith('/') ? first : `/${rest.join('/')}`;
}

export type Group = 'flow' | 'model' | 'tool' | 'prompt' | 'agent' | 'other';
export const GROUPS: readonly Group[] = ['flow', 'model', 'tool', 'prompt', 'agent', 'other'];

const GROUP_OF: Record<string, Group> = {
  flow: 'flow',
  model: 'model',
  'background-model': 'model',
  tool: 'tool',
  'tool.v2': 'tool',
  prompt: 'prompt',
  'executable-prompt': 'prompt',
  agent: 'agent',
};

export interface ActionRow {
  key: string;
  name: string;
  kind: string;
  group: Group;
  description: string;
  isHelper: boolean;
  action: ActionDescriptor;
}

/** Kinds that the framework adds for itself. */
const HELPERS = new Set(['agent-snapshot', 'agent-abort', 'util', 'tool.v2', 'check-operation', 'cancel-operation', 'dynamic-action-provider']);

/** The rows of a list of actions, by group and name. */
export function rowsOf(actions: Record<string, ActionDescriptor>): ActionRow[] {
  const all = Object.entries(actions).map(([key, action]) => rowOf(key, action, actions));
  return all.toSorted((a, b) => GROUPS.indexOf(a.group) - GROUPS.indexOf(b.group) || a.name.localeCompare(b.name) || a.key.localeCompare(b.key));
}

function rowOf(key: string, action: ActionDescriptor, all: Record<string, ActionDescriptor>): ActionRow {
  const kind = kindOfKey(key);
  const name = key.split('/').slice(2).join('/') || action.name || key;
  return {
    key,
    name,
    kind,
    group: GROUP_OF[kind] ?? 'other',
    description: action.description ?? '',
    isHelper: isHelper(kind, name, all),
    action,
  };
}

function isHelper(kind: string, name: string, all: Record<string, ActionDescriptor>): boolean {
  // A tool that exists only in its second version is the tool itself.
  if (kind === 'tool.v2') return `/tool/${name}` in all;
  // An executable prompt renders and generates; `/prompt` only renders it.
  if (kind === 'prompt') return `/executable-prompt/${name}` in all;
  // The prompt of an agent has its name.
  if (kind === 'executable-prompt') return `/agent/${name}` in all;
  return HELPERS.has(kind);
}

/** The rows that fit what was typed and the chosen kind. */
export function filterRows(rows: readonly ActionRow[], query: string, kind: string, hasHelpers: boolean): ActionRow[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => {
    if (row.isHelper && !hasHelpers) return false;
    if (kind && row.group !== kind && row.kind !== kind) return false;
    const text = `${row.key} ${row.description}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** The command that runs an action without further words: `oxikit flow run hello`. */
export function runWords(key: string): string[] {
  const [kind, ...name] = key.split('/').slice(1);
  return kind === 'flow' ? ['flow', 'run', name.join('/')] : ['action', 'run', key];
}
