// Keys of the area of prompts.

import type { Key } from '../state/keys.svelte';
import { route, type View } from '../state/route.svelte';
import { workspace } from '../state/workspace.svelte';
import { texts } from '../texts';
import { isInList, stepInList } from './list_focus';

const VIEWS: Record<string, View> = { '1': 'preview', '2': 'details', '3': 'history', '4': 'uses' };
const about = texts.keys.prompts;

export const promptKeys: readonly Key[] = [
  { keys: '/', about: about.find, run: () => document.getElementById('find')?.focus() },
  { keys: 'j k', about: about.step, run: (event) => stepInList(event.key === 'j' ? 1 : -1) },
  { keys: 'Enter', about: about.text, run: intoText },
  { keys: 'Escape', about: about.close, run: closeRevision },
  { keys: 'n', about: about.new, run: () => workspace.ask({ name: 'create' }) },
  { keys: '1 2 3 4', about: about.views, run: showView },
  // The browser would save the page as a file.
  { keys: 'Ctrl+s', about: about.save, run: () => workspace.document?.save() },
];

function intoText(): boolean {
  if (!isInList(document.activeElement) && document.activeElement !== document.body) return false;
  workspace.focusText();
  return true;
}

/** Closes the innermost: an old revision. */
function closeRevision(): boolean {
  if (route.rev === null) return false;
  route.move({ rev: null });
  return true;
}

function showView(event: KeyboardEvent): boolean {
  const view = VIEWS[event.key];
  if (!view || !workspace.document) return false;
  route.move({ view });
  return true;
}
