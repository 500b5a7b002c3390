// What the command palette finds. Areas provide entries while the page is open.

import type { IconName } from '../ui/icons';

export interface PaletteEntry {
  /** Unique among all entries; recent ones are remembered by it. */
  id: string;
  name: string;
  /** What choosing it does: "Run flow", "Session f003b09f, waits". */
  about: string;
  /** The letter of the kind, or an icon. */
  kind?: string;
  icon?: IconName;
  /** Opens it. */
  open: () => void;
  /** Runs it at once (Ctrl Enter), if that is possible. */
  run?: () => void;
}

/** Finds entries for what was typed; an empty text asks for the most useful ones. */
export type PaletteSource = (text: string) => PaletteEntry[] | Promise<PaletteEntry[]>;

const RECENT = 'oxikit.recent';
const MAX_RECENT = 8;

class Palette {
  #isOpen = $state(false);
  #sources: PaletteSource[] = [];

  get isOpen(): boolean {
    return this.#isOpen;
  }

  show(): void {
    this.#isOpen = true;
  }

  hide(): void {
    this.#isOpen = false;
  }

  /** Adds a source. The result removes it. */
  use(source: PaletteSource): () => void {
    this.#sources = [...this.#sources, source];
    return () => {
      this.#sources = this.#sources.filter((other) => other !== source);
    };
  }

  /** All entries for a text, recent ones first. A source that fails has none. */
  async find(text: string): Promise<PaletteEntry[]> {
    const found = await Promise.allSettled(this.#sources.map(async (source) => source(text)));
    const all = found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
    // Two sources may find the same.
    const entries = [...new Map(all.map((entry) => [entry.id, entry])).values()];
    const recent = readRecent();
    const rank = (entry: PaletteEntry): number => {
      const at = recent.indexOf(entry.id);
      return at < 0 ? MAX_RECENT : at;
    };
    return entries.toSorted((a, b) => rank(a) - rank(b));
  }

  choose(entry: PaletteEntry, isRun: boolean): void {
    const recent = [entry.id, ...readRecent().filter((id) => id !== entry.id)].slice(0, MAX_RECENT);
    localStorage.setItem(RECENT, JSON.stringify(recent));
    this.hide();
    if (isRun && entry.run) entry.run();
    else entry.open();
  }
}

export const palette = new Palette();

/** Whether all words of a text are in the others, in any order and case. */
export function matches(text: string, ...others: string[]): boolean {
  const whole = others.join(' ').toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => whole.includes(word));
}

function readRecent(): string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(RECENT) ?? '[]');
    return Array.isArray(stored) ? stored.filter((id) => typeof id === 'string') : [];
  } catch {
    return [];
  }
}
