// The sessions that were opened in this page, so that going back shows them at once.

import { untrack } from 'svelte';

import { OpenSession } from './session.svelte';
import { newId } from './own_sessions';
import { SessionView } from './view.svelte';

/** Maximum number of sessions that are kept. The one that was opened first is dropped. */
const MAX_OPENED = 12;

interface Opened {
  view: SessionView;
  /** Ends what the view derives. */
  end: () => void;
}

const opened = new Map<string, Opened>();
const fresh = new Map<string, string>();

/** The view of a session. */
export function openedSession(agent: string, id: string): SessionView {
  const key = `${agent}\n${id}`;
  const known = opened.get(key);
  if (known) return known.view;
  const made = untrack(() => makeView(agent, id));
  opened.set(key, made);
  const oldest = opened.keys().next().value;
  if (opened.size > MAX_OPENED && oldest !== undefined) forget(oldest);
  return made.view;
}

/** What a view derives belongs to no component, because the view outlives them. */
function makeView(agent: string, id: string): Opened {
  let view: SessionView | undefined;
  const end = $effect.root(() => {
    view = new SessionView(new OpenSession(agent, id));
  });
  return { view: view ?? new SessionView(new OpenSession(agent, id)), end };
}

function forget(key: string): void {
  opened.get(key)?.end();
  opened.delete(key);
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
  forget(`${agent}\n${id}`);
}
