// Commands of the traces in the command palette. Traces themselves are found by the frame.

import { matches, type PaletteEntry } from '../state/palette.svelte';
import { place } from '../state/place.svelte';
import { texts } from './texts';

export function traceCommands(text: string): PaletteEntry[] {
  if (!matches(text, texts.file.open)) return [];
  const open = (): void => place.open(['traces', 'file']);
  return [{ id: 'do:traceFile', name: texts.file.open, about: texts.heading, icon: 'upload', open }];
}
