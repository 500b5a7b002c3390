// The sessions that were opened in this page, so that going back shows them at once.

import { OpenSession } from './session.svelte';
import { newId } from './own_sessions';
import { SessionView } from './view.svelte';

/** Maximum number of sessions that are kept. The one that was opened first is dropped. */
const MAX_OPENED = 12;

const opened = new Map<string, SessionView>();
const fresh = new Map<string, string>();

/** The view of a session. */
export function openedSession(agent: string, id: string): SessionView {
  const key = `${agent}\n${id}`;
  const known = opened.get(key);
  if (known) return known;
  const view = new SessionView(new OpenSession(agent, id));
  opened.set(key, view);
  const oldest = opened.keys().next().value;
  if (opened.size > MAX_OPENED && oldest !== undefined) opened.delete(oldest);
  return view;
}

/** The view of a session that its first message makes. */
export function freshSession(agent: string): SessionView {
  const id = fresh.get(agent) ?? newId();
  fresh.set(agent, id);
  return openedSession(agent, id);
}

/** The next new chat with the agent is another session. */
export function usedFresh(agent: string, id: string): void {
  if (fresh.get(agent) === id) fresh.delete(agent);
}

export function forgetOpened(agent: string, id: string): void {
  opened.delete(`${agent}\n${id}`);
}
