// Agents that speak A2A in the command palette.

import { matches, type PaletteEntry } from '../state/palette.svelte';
import { place } from '../state/place.svelte';
import { recent } from './recent.svelte';
import { texts } from './texts';

export function a2aEntries(text: string): PaletteEntry[] {
  return recent.agents
    .filter(({ url, name }) => matches(text, url, name, 'a2a'))
    .map(({ url, name }) => ({
      id: `a2a:${url}`,
      name,
      about: texts.palette(url),
      icon: 'link',
      open: () => place.open(['a2a', url]),
    }));
}
