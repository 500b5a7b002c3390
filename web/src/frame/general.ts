// Keys and palette entries that work everywhere.

import { ALL_AREAS } from '../areas';
import { command } from '../state/command.svelte';
import { frame } from '../state/frame.svelte';
import type { Key } from '../state/keys.svelte';
import { matches, palette, type PaletteEntry } from '../state/palette.svelte';
import { place } from '../state/place.svelte';
import { texts } from '../texts';
import { copy } from '../ui/copy';

/** G, then the letter of an area. */
const areaKeys = ALL_AREAS.map((area) => `g>${area.key}`).join(' ');

export const generalKeys: readonly Key[] = [
  { keys: 'Ctrl+k', about: texts.keys.palette, run: () => palette.show() },
  { keys: areaKeys, about: texts.keys.go, run: (event) => goTo(event.key) },
  { keys: 'y', about: texts.keys.copyLink, run: () => void copy(location.href, texts.document.linkCopied) },
  { keys: 'c', about: texts.keys.copyCommand, run: () => void copy(command.line, texts.command.copied) },
  { keys: '?', about: texts.keys.all, run: () => frame.ask('keys') },
];

function goTo(key: string): void {
  const area = ALL_AREAS.find((one) => one.key === key.toLowerCase());
  if (area) place.open(area.id ? [area.id] : []);
}

export function areaEntries(text: string): PaletteEntry[] {
  const found = ALL_AREAS.filter((area) => matches(text, area.name));
  return found.map((area) => ({
    id: `area:${area.id}`,
    name: area.name,
    about: texts.frame.goTo(area.name),
    icon: area.icon,
    open: () => place.open(area.id ? [area.id] : []),
  }));
}
