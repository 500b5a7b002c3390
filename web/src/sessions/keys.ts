// Keys of the area of sessions.

import type { Key } from '../state/keys.svelte';
import { place } from '../state/place.svelte';
import { focusComposer } from './actions';
import { sessionList } from './list.svelte';
import { texts } from './texts';
import { VIEWS, type SessionView } from './view.svelte';

interface Parts {
  view: () => SessionView | null;
  step: (by: number) => void;
  find: () => void;
  fork: () => void;
}

const about = texts.keys;

export function sessionKeys({ view, step, find, fork }: Parts): Key[] {
  return [
    { keys: '/', about: about.find, run: find },
    { keys: 'j k', about: about.step, run: (event) => step(event.key === 'j' ? 1 : -1) },
    { keys: 'Enter', about: about.open, run: () => (isFree() && view() ? focusComposer() : false) },
    { keys: 'Escape', about: about.close, run: () => close(view()) },
    { keys: 'Ctrl+.', about: about.stop, run: () => stop(view()) },
    { keys: 'f', about: about.fork, run: () => (view()?.chosen?.snapshot.status === 'completed' ? fork() : false) },
    { keys: 'm', about: about.mark, run: () => (view()?.at ? view()?.mark() : false) },
    { keys: '[ ]', about: about.turns, run: (event) => stepTurn(view(), event.key === ']' ? 1 : -1) },
    { keys: '1 2 3 4', about: about.views, run: (event) => showView(view(), event.key) },
    { keys: 'n', about: about.new, run: () => startNew(view()) },
    { keys: '.', about: about.take, run: () => (sessionList.held > 0 ? sessionList.takeIn() : false) },
  ];
}

/** Whether nothing has the focus that uses Enter itself. */
function isFree(): boolean {
  const active = document.activeElement;
  return active === null || active === document.body || active.matches('[role=listbox], main');
}

function close(view: SessionView | null): boolean {
  if (!view) return false;
  if (view.base) view.base = null;
  else if (document.activeElement instanceof HTMLTextAreaElement) document.activeElement.blur();
  else place.open(['sessions'], filters());
  return true;
}

function stop(view: SessionView | null): boolean {
  if (!view?.isRunning) return false;
  void view.session.stop();
  return true;
}

function stepTurn(view: SessionView | null, by: number): boolean {
  const at = view?.path.findIndex(({ snapshotId }) => snapshotId === view.at) ?? -1;
  const next = view?.path[at + by];
  if (!view || !next) return false;
  view.choose(next.snapshotId);
  return true;
}

function showView(view: SessionView | null, key: string): boolean {
  const wanted = VIEWS[Number(key) - 1];
  if (!view || !wanted) return false;
  place.set({ view: wanted });
  return true;
}

function startNew(view: SessionView | null): boolean {
  const agent = view?.session.agent ?? sessionList.agents[0]?.name;
  if (agent === undefined) return false;
  place.open(['sessions', agent], filters());
  queueMicrotask(focusComposer);
  return true;
}

/** The members of the query that belong to the list. */
export function filters(): Record<string, string> {
  const { q = '', agent = '', status = '' } = place.query;
  return { q, agent, status };
}
