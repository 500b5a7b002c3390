// A request to a model, as the playground edits it. Members that it does not know stay.

import type { ActionDescriptor } from '../api/tools_types';
import { isObject, type JsonObject } from '../form/schema';

export interface RequestMessage {
  role: string;
  content: JsonObject[];
  [member: string]: unknown;
}

export const ROLES = ['system', 'user', 'model', 'tool'] as const;
/** Members that the playground shows. */
const SHOWN = ['messages', 'config', 'tools', 'toolChoice', 'output', 'docs'];

/** Whether the playground can edit a value. Others are edited as JSON. */
export function isRequest(value: unknown): value is JsonObject {
  if (!isObject(value)) return value === undefined;
  const { messages } = value;
  if (messages === undefined) return true;
  if (!Array.isArray(messages)) return false;
  return messages.every((message: unknown) => isObject(message) && Array.isArray(message['content']) && message['content'].every(isObject));
}

export function messagesOf(value: unknown): RequestMessage[] {
  return isObject(value) && Array.isArray(value['messages']) ? (value['messages'] as RequestMessage[]) : [];
}

/** The role that a message after these usually has. */
export function nextRole(messages: readonly RequestMessage[]): string {
  return messages.at(-1)?.role === 'user' ? 'model' : 'user';
}

/** The schema of a model's settings, in its metadata. */
export function configSchema(action: ActionDescriptor): unknown {
  const model = isObject(action.metadata?.['model']) ? action.metadata['model'] : {};
  const found = model['customOptions'] ?? model['configSchema'] ?? action.metadata?.['configSchema'];
  return isObject(found) ? found : undefined;
}

/** What a model says that it cannot do: `tools`, `media`. */
export function lacks(action: ActionDescriptor, what: string): boolean {
  const model = isObject(action.metadata?.['model']) ? action.metadata['model'] : {};
  return isObject(model['supports']) && model['supports'][what] === false;
}

/** The description of a tool in a request. Models know the last part of a name with a namespace. */
export function toolOf(action: ActionDescriptor): JsonObject {
  const name = action.key.split('/').slice(2).join('/') || action.name;
  const short = name.split('/').at(-1) ?? name;
  return {
    name: short,
    description: action.description ?? '',
    ...(action.inputSchema !== undefined && { inputSchema: action.inputSchema }),
    ...(action.outputSchema !== undefined && { outputSchema: action.outputSchema }),
    ...(short !== name && { metadata: { originalName: name } }),
  };
}

export function toolsOf(value: unknown): JsonObject[] {
  return isObject(value) && Array.isArray(value['tools']) ? value['tools'].filter(isObject) : [];
}

/** Members of a request that only the JSON shows. */
export function hiddenMembers(value: unknown): string[] {
  return isObject(value) ? Object.keys(value).filter((name) => !SHOWN.includes(name)) : [];
}

/** The texts of the documents of a request; `null` if one is more than a text. */
export function docTexts(value: unknown): string[] | null {
  const docs = isObject(value) ? value['docs'] : undefined;
  if (docs === undefined || docs === null) return [];
  if (!Array.isArray(docs)) return null;
  const texts = docs.map((doc: unknown) => {
    const content = isObject(doc) && Array.isArray(doc['content']) ? (doc['content'] as unknown[]) : [];
    const only = content.length === 1 && isObject(content[0]) ? content[0]['text'] : null;
    return typeof only === 'string' ? only : null;
  });
  return texts.every((text) => text !== null) ? texts : null;
}

export function withDocs(texts: readonly string[]): unknown {
  return texts.length === 0 ? undefined : texts.map((text) => ({ content: [{ text }] }));
}
