// What the command palette finds beside the areas themselves: what is in them, such as actions,
// sessions and traces, and commands.

import { signOut } from '../api/session';
import { command } from '../state/command.svelte';
import { frame } from '../state/frame.svelte';
import { matches, type PaletteEntry, type PaletteSource } from '../state/palette.svelte';
import { settings, THEMES } from '../state/settings.svelte';
import { texts } from '../texts';
import { copy } from '../ui/copy';

export const paletteSources: readonly PaletteSource[] = [areaSources, commandEntries];

/** Sources of areas: `<area>/palette.ts`. They are loaded when the palette is opened first. */
const modules = import.meta.glob<Record<string, PaletteSource>>('../*/palette.ts');

async function areaSources(text: string): Promise<PaletteEntry[]> {
  const loaded = await Promise.all(Object.values(modules).map((load) => load()));
  const sources = loaded.flatMap((module) => Object.values(module)).filter((one) => typeof one === 'function');
  const found = await Promise.allSettled(sources.map(async (source) => source(text)));
  return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
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
