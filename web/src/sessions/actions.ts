// What a person does with a session.

import { notices } from '../state/notices.svelte';
import { place } from '../state/place.svelte';
import { saveFile } from '../ui/files';
import { freshSession, openedSession, usedFresh } from './opened.svelte';
import { texts } from './texts';
import type { Message, Part, TurnInput } from './types';
import type { SessionView } from './view.svelte';

/** Forks from a snapshot and opens the new session. Runtimes that cannot copy sessions branch. */
export async function forkFrom(view: SessionView, snapshotId: string): Promise<void> {
  const { session } = view;
  if (!session.canFork) {
    goOnFrom(view, snapshotId);
    return;
  }
  try {
    const id = await session.fork(snapshotId);
    place.open(['sessions', session.agent, id]);
  } catch (error) {
    notices.fail(error);
  }
}

/** The next message goes on from this snapshot, as a branch. */
export function goOnFrom(view: SessionView, snapshotId: string): void {
  view.base = { snapshotId, edited: null };
  focusComposer();
}

/** Sends a message where the view says: after the branch, or from an earlier turn. */
export async function sendMessage(view: SessionView, parts: Part[], isDetached: boolean): Promise<void> {
  const message: Message = { role: 'user', content: parts };
  const input: TurnInput = { message, ...(isDetached && { detach: true }) };
  const base = view.base;
  view.base = null;
  if (base && base.snapshotId === null) return sendNew(view.session.agent, input);
  await run(view, input, base?.snapshotId ?? view.good?.snapshotId ?? null);
}

/** Sends the edited input of a turn in a new session, with the turns before it. */
export async function sendInFork(view: SessionView, parts: Part[]): Promise<void> {
  const from = view.base?.snapshotId ?? null;
  const message: Message = { role: 'user', content: parts };
  view.base = null;
  if (from === null) return sendNew(view.session.agent, { message });
  try {
    const { agent } = view.session;
    const id = await view.session.fork(from);
    place.open(['sessions', agent, id]);
    const forked = openedSession(agent, id);
    await forked.session.refresh();
    await run(forked, { message }, null);
  } catch (error) {
    notices.fail(error);
  }
}

/** Sends the first message of a new session. */
async function sendNew(agent: string, input: TurnInput): Promise<void> {
  place.open(['sessions', agent]);
  await run(freshSession(agent), input, null);
}

/** Runs a turn and says its end. */
export async function run(view: SessionView, input: TurnInput, from: string | null): Promise<void> {
  const { session } = view;
  usedFresh(session.agent, session.id);
  const path = ['sessions', session.agent, session.id];
  place.move(path, { ...place.query, at: '' });
  const turn = await session.send(input, from);
  const waiting = view.waiting[0];
  if (waiting) notices.announce(texts.chat.waits(waiting.name));
  else if (turn.phase === 'ended') notices.announce(texts.chat.ended(session.agent));
}

/** Saves the session as a file. */
export async function exportSession(view: SessionView): Promise<void> {
  const { agent, id } = view.session;
  const name = `${agent}-${id.slice(0, 8)}.json`.replace(/[^\w.-]+/g, '_');
  try {
    saveFile(name, JSON.stringify(await view.session.exported(), null, 2));
    notices.show(texts.menu.exported(name));
  } catch (error) {
    notices.fail(error);
  }
}

export const COMPOSER = 'session-message';

export function focusComposer(): void {
  document.getElementById(COMPOSER)?.focus();
}
