// Requests to the server that has sent this page.

import { token } from './token';

/** A request that has failed: by its answer (`status`), or without one (`status` 0). */
export class ApiError extends Error {
  readonly status: number;
  readonly body: unknown;

  constructor(message: string, status: number, body: unknown = null) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.body = body;
  }
}

export interface Call {
  query?: Record<string, string | number | undefined>;
  body?: unknown;
  signal?: AbortSignal;
  /** Members of the header. */
  headers?: Record<string, string>;
}

/**
 * The path of the server. The page is at its root or at `/prompts`, so what is before that belongs
 * to a proxy.
 */
const PREFIX = location.pathname.replace(/\/(?:prompts\/?|index\.html|prompts\/index\.html)?$/, '');

/** Functions that are called when the server asks for a token. */
const listeners = new Set<() => void>();

/** Calls the function when the server refuses a request because of its token. */
export function onUnauthorized(listener: () => void): void {
  listeners.add(listener);
}

/** The URL of a path of the server. */
export function urlOf(path: string, query: Call['query'] = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) search.set(name, String(value));
  }
  const text = search.toString();
  return `${PREFIX}${path}${text ? `?${text}` : ''}`;
}

/** The URL of a socket. */
export function socketUrl(path: string): string {
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
  return `${scheme}://${location.host}${PREFIX}${path}`;
}

/** The subprotocols of a socket. The token is one of them: browsers send no header with a socket. */
export function socketProtocols(name: string): string[] {
  const own = token();
  return own ? [name, `oxikit.token.${own}`] : [name];
}

/** The response to a request; an error if it is none of success. */
export async function respond(method: string, path: string, call: Call = {}): Promise<Response> {
  const headers = new Headers(call.headers);
  const own = token();
  if (own) headers.set('authorization', `Bearer ${own}`);
  const init: RequestInit = { method, headers };
  if (call.body !== undefined) {
    headers.set('content-type', 'application/json');
    init.body = JSON.stringify(call.body);
  }
  if (call.signal) init.signal = call.signal;
  let response: Response;
  try {
    response = await fetch(urlOf(path, call.query), init);
  } catch (error) {
    if (call.signal?.aborted) throw error;
    throw new ApiError('The server does not answer.', 0);
  }
  if (response.ok) return response;
  if (response.status === 401) for (const listener of listeners) listener();
  const body: unknown = await response.json().catch(() => null);
  throw new ApiError(messageOf(body) ?? `The server answered ${response.status}.`, response.status, body);
}

/** The JSON of a response. */
export async function request<T>(method: string, path: string, call: Call = {}): Promise<T> {
  const response = await respond(method, path, call);
  return (await response.json()) as T;
}

/** The text for people in an error response: of the prompt manager, or of the developer tools. */
function messageOf(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { detail, message, error } = body as Record<string, unknown>;
  if (typeof detail === 'string') return detail;
  if (Array.isArray(detail)) {
    const texts = detail.map((field: { loc?: string[]; msg?: string }) =>
      [field.loc?.at(-1), field.msg].filter(Boolean).join(': '),
    );
    return texts.join('; ');
  }
  if (typeof message === 'string') return message;
  return error === undefined ? undefined : messageOf(error);
}
