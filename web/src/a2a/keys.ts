// Keys of the area of A2A.

import type { Key } from '../state/keys.svelte';
import { place } from '../state/place.svelte';
import type { RemoteAgent } from './agent.svelte';
import { texts } from './texts';

export const URL_FIELD = 'a2a-url';
export const MESSAGE_FIELD = 'a2a-message';
export const A2A_VIEWS = ['card', 'task', 'exchange'] as const;
export type A2aView = (typeof A2A_VIEWS)[number];

const focus = (id: string): void => document.getElementById(id)?.focus();

export function a2aKeys(agent: () => RemoteAgent | null): Key[] {
  const about = texts.keys;
  return [
    { keys: '/', about: about.find, run: () => focus(URL_FIELD) },
    { keys: 'Enter', about: about.open, run: () => (agent() && isFree() ? focus(MESSAGE_FIELD) : false) },
    { keys: 'Escape', about: about.close, run: () => close(agent()) },
    { keys: 'Ctrl+.', about: about.stop, run: () => stop(agent()) },
    { keys: '1 2 3', about: about.views, run: (event) => showView(agent(), event.key) },
  ];
}

function isFree(): boolean {
  const active = document.activeElement;
  return active === null || active === document.body || active.matches('main');
}

function close(agent: RemoteAgent | null): boolean {
  if (!agent) return false;
  if (document.activeElement instanceof HTMLTextAreaElement) document.activeElement.blur();
  else place.open(['a2a']);
  return true;
}

function stop(agent: RemoteAgent | null): boolean {
  const reading = agent?.asked.filter(({ isReading }) => isReading) ?? [];
  for (const asked of reading) asked.leave();
  return reading.length > 0;
}

function showView(agent: RemoteAgent | null, key: string): boolean {
  const view = A2A_VIEWS[Number(key) - 1];
  if (!agent || !view) return false;
  place.set({ view });
  return true;
}
