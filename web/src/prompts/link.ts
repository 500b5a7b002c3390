// The connection of the open document, as the bar at the bottom shows it.

import type { OpenDocument } from '../state/document.svelte';
import { library } from '../state/library.svelte';
import type { ShownLink } from '../state/link.svelte';
import { texts } from '../texts';

export function shownLink(document: OpenDocument | null): ShownLink {
  if (document?.isOverHttp) {
    return { icon: 'warning', text: texts.link.http, tone: 'wait', about: texts.link.httpAbout };
  }
  const state = document?.link.state ?? (library.state.state === 'ready' ? 'open' : library.state.state);
  switch (state) {
    case 'open':
      return { icon: 'live', text: texts.link.live, tone: 'off', about: texts.link.liveAbout };
    case 'connecting':
    case 'loading':
      return { icon: 'running', text: texts.link.connecting, tone: 'off' };
    case 'waiting':
    case 'failed':
      return { icon: 'pause', text: texts.link.ended, tone: 'wait' };
    default:
      return { icon: 'error', text: texts.link.ended, tone: 'err' };
  }
}
