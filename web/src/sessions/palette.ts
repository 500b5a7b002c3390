// Agents and sessions in the command palette.

import { matches, type PaletteEntry } from '../state/palette.svelte';
import { place } from '../state/place.svelte';
import { sessionList } from './list.svelte';
import { keyOf, statusOf } from './rows';
import { texts } from './texts';

/** Maximum number of sessions that the palette shows. */
const MAX_FOUND = 20;

export async function sessionEntries(text: string): Promise<PaletteEntry[]> {
  if (sessionList.state.state === 'loading') await sessionList.refresh();
  const agents = sessionList.agents.filter(({ name }) => matches(text, name, 'agent chat'));
  const sessions = sessionList.sessions.filter((session) =>
    matches(text, session.sessionId, session.agentName, sessionList.titles.get(keyOf(session)) ?? '', 'session'),
  );
  return [
    ...agents.map(({ name }) => ({
      id: `agent:${name}`,
      name,
      about: texts.palette.agent,
      kind: 'agent',
      open: () => place.open(['sessions', name]),
    })),
    ...sessions.slice(0, MAX_FOUND).map((session) => ({
      id: `session:${keyOf(session)}`,
      name: sessionList.titles.get(keyOf(session)) || session.agentName,
      about: texts.palette.session(session.sessionId.slice(0, 8), texts.statuses[statusOf(session)]),
      icon: 'chat' as const,
      open: () => place.open(['sessions', session.agentName, session.sessionId]),
    })),
  ];
}
