// Calls of the developer tools, and short names for their generated types.

import { request, type Call } from './http';
import type { AppStatus, Info, RuntimeInfo, RuntimeList } from './tools_types';

export type { AppStatus, Info, RuntimeInfo, RuntimeList };
export { runtimeAbout, runtimeName } from './runtime_names';

/** `GET` of a path below `/api/v1`. */
export function get<T>(path: string, query: Call['query'] = {}, signal?: AbortSignal): Promise<T> {
  return request<T>('GET', `/api/v1${path}`, { query, ...(signal && { signal }) });
}

/** `POST` to a path below `/api/v1`. */
export function post<T>(path: string, body: unknown = {}, query: Call['query'] = {}): Promise<T> {
  return request<T>('POST', `/api/v1${path}`, { body, query });
}

export function patch<T>(path: string, body: unknown): Promise<T> {
  return request<T>('PATCH', `/api/v1${path}`, { body });
}

export function remove<T>(path: string, query: Call['query'] = {}): Promise<T> {
  return request<T>('DELETE', `/api/v1${path}`, { query });
}
