// Keys of the page. Single letters rest while a field has the focus, and can be turned off.

import { route, type View } from '../state/route.svelte';
import { settings } from '../state/settings.svelte';
import { workspace } from '../state/workspace.svelte';
import { texts } from '../texts';
import { copy } from '../ui/copy';
import { commandOf } from './command';
import { isInList, stepInList } from './list_focus';

const VIEWS: Record<string, View> = { '1': 'preview', '2': 'details', '3': 'history', '4': 'uses' };

export function handleKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || document.querySelector('dialog[open]')) return;
  const isSave = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 's';
  if (isSave) {
    // The browser would save the page as a file.
    event.preventDefault();
    workspace.document?.save();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'Escape') {
    if (escaped()) event.preventDefault();
    return;
  }
  if (isField(event) || !settings.hasShortcuts) return;
  if (pressed(event.key)) event.preventDefault();
}

/** Closes the innermost: an old revision, then the document on a narrow screen. */
function escaped(): boolean {
  if (route.rev !== null) {
    route.move({ rev: null });
    return true;
  }
  return false;
}

function pressed(key: string): boolean {
  const view = VIEWS[key];
  if (view && workspace.document) {
    route.move({ view });
    return true;
  }
  switch (key) {
    case '/':
      document.getElementById('find')?.focus();
      return true;
    case 'j':
    case 'k':
      stepInList(key === 'j' ? 1 : -1);
      return true;
    case 'n':
      workspace.ask({ name: 'create' });
      return true;
    case '?':
      workspace.ask({ name: 'keys' });
      return true;
    case 'y':
      void copy(location.href, texts.document.linkCopied);
      return true;
    case 'c':
      void copy(commandOf(), texts.command.copied);
      return true;
    case 'Enter':
      if (!isInList(document.activeElement) && document.activeElement !== document.body) return false;
      workspace.focusText();
      return true;
    default:
      return false;
  }
}

/** Whether a field has the focus, also one inside of the editor's shadow root. */
function isField(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches('input, textarea, select');
}
