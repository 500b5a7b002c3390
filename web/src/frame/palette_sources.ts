// What the command palette finds beside the areas: entries of areas such as actions and sessions,
// traces and commands.

import { signOut } from '../api/session';
import { get } from '../api/tools';
import type { TraceInfo, TraceList, WholeTrace } from '../api/tools_types';
import { command } from '../state/command.svelte';
import { frame } from '../state/frame.svelte';
import { matches, type PaletteEntry, type PaletteSource } from '../state/palette.svelte';
import { place } from '../state/place.svelte';
import { settings, THEMES } from '../state/settings.svelte';
import { texts } from '../texts';
import { copy } from '../ui/copy';
import { age, elapsed } from '../ui/format';

const names = texts.frame.found;
/** Lists are read again after this time in milliseconds: a person types several letters meanwhile. */
const KEPT = 5_000;
const MAX_EACH = 20;

export const paletteSources: readonly PaletteSource[] = [areaSources, traceEntries, commandEntries];

/** Sources of areas: `<area>/palette.ts`. They are loaded when the palette is opened first. */
const modules = import.meta.glob<Record<string, PaletteSource>>('../*/palette.ts');

async function areaSources(text: string): Promise<PaletteEntry[]> {
  const loaded = await Promise.all(Object.values(modules).map((load) => load()));
  const sources = loaded.flatMap((module) => Object.values(module)).filter((one) => typeof one === 'function');
  const found = await Promise.allSettled(sources.map(async (source) => source(text)));
  return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
}

const traces = kept(async () => (await get<TraceList>('/traces', { limit: 200 })).traces);

async function traceEntries(text: string): Promise<PaletteEntry[]> {
  if (/^[0-9a-f]{32}$/i.test(text)) {
    const { trace } = await get<WholeTrace>(`/traces/${text.toLowerCase()}`);
    return [traceEntry(trace)];
  }
  const found = (await traces()).filter(
    (trace) => trace.traceId.startsWith(text.toLowerCase()) || matches(text, trace.name, trace.type ?? ''),
  );
  return found.slice(0, text ? MAX_EACH : 5).map(traceEntry);
}

function traceEntry(trace: TraceInfo): PaletteEntry {
  return {
    id: `trace:${trace.traceId}`,
    name: trace.name,
    about: names.trace(
      trace.traceId.slice(0, 8),
      trace.status === 'success' ? elapsed(trace.duration) : names.status[trace.status],
      age(isoOf(trace.startTime), Date.now()),
    ),
    icon: 'trace',
    open: () => place.open(['traces', trace.traceId]),
  };
}

function commandEntries(text: string): PaletteEntry[] {
  const entries: PaletteEntry[] = [
    { id: 'do:keys', name: texts.keys.heading, about: '?', icon: 'info', open: () => frame.ask('keys') },
    {
      id: 'do:copy',
      name: texts.frame.copyCommand,
      about: command.line,
      icon: 'copy',
      open: () => void copy(command.line, texts.command.copied),
    },
    ...THEMES.map((theme) => ({
      id: `do:theme:${theme}`,
      name: texts.theme[theme],
      about: texts.theme.label,
      icon: theme,
      open: () => (settings.theme = theme),
    })),
    {
      id: 'do:leave',
      name: texts.frame.signOut,
      about: '',
      icon: 'close',
      open: () => void signOut().finally(() => location.reload()),
    },
  ];
  return entries.filter((entry) => matches(text, entry.name, entry.about));
}

function isoOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** A list that is read once in a while. */
function kept<T>(read: () => Promise<T>): () => Promise<T> {
  let value: Promise<T> | null = null;
  let until = 0;
  return () => {
    if (value && Date.now() < until) return value;
    until = Date.now() + KEPT;
    value = read();
    // The next try reads again.
    value.catch(() => (until = 0));
    return value;
  };
}
