// What tools say about their effects. A tool that says nothing counts as writing.

import type { ActionDescriptor } from '../api/tools_types';
import { kindOfKey } from '../ui/kinds';

type Members = Record<string, unknown>;

/** Whether a tool says that it only reads. Tools of MCP servers say it by their hints, which `mcp` has. */
export function isReadOnly(action: ActionDescriptor): boolean {
  const own = members(action.metadata?.['tool']);
  const hints = members(action.metadata?.['mcp']);
  return own['readOnly'] === true || hints['readOnlyHint'] === true;
}

/** The names of the tools that only read, as models call them. */
export function readOnlyTools(actions: readonly ActionDescriptor[]): Set<string> {
  const tools = actions.filter((action) => ['tool', 'tool.v2'].includes(kindOfKey(action.key)) && isReadOnly(action));
  return new Set(tools.flatMap(({ name, key }) => [name, key.slice(key.lastIndexOf('/') + 1)]));
}

function members(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : {};
}
