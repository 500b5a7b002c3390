// Traces and their commands in the command palette.

import { get } from '../api/tools';
import type { TraceList } from '../api/tools_types';
import { matches, type PaletteEntry } from '../state/palette.svelte';
import { place } from '../state/place.svelte';
import { texts } from './texts';

/** Number of newest traces among which names are looked for. */
const SEARCHED = 100;
const MAX_SHOWN = 8;

/** The newest traces whose name, or the beginning of whose id, was typed. */
export async function traceEntries(text: string): Promise<PaletteEntry[]> {
  if (!text) return [];
  const { traces } = await get<TraceList>('/traces', { limit: SEARCHED });
  const found = traces.filter(({ name, traceId }) => matches(text, name) || traceId.startsWith(text.toLowerCase()));
  return found.slice(0, MAX_SHOWN).map(({ name, traceId, type }) => ({
    id: `trace:${traceId}`,
    name,
    about: `${texts.heading} ${traceId.slice(0, 8)}`,
    kind: type ?? 'step',
    open: () => place.open(['traces', traceId]),
  }));
}

export function traceCommands(text: string): PaletteEntry[] {
  if (!matches(text, texts.file.open)) return [];
  const open = (): void => place.open(['traces', 'file']);
  return [{ id: 'do:traceFile', name: texts.file.open, about: texts.heading, icon: 'upload', open }];
}
