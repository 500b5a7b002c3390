// What a person has chosen, kept in this browser: the theme, the name, the widths of columns.

import { texts } from '../texts';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const THEME = 'oxikit.theme';
const NAME = 'oxikit.name';
const WIDTHS = 'oxikit.widths';
const SHORTCUTS = 'oxikit.shortcuts';

class Settings {
  #theme = $state<Theme>(THEMES.find((theme) => theme === localStorage.getItem(THEME)) ?? 'system');
  #name = $state(localStorage.getItem(NAME) ?? newName());
  #widths = $state<{ list: number; inspector: number }>(readWidths());
  #hasShortcuts = $state(localStorage.getItem(SHORTCUTS) !== 'off');

  constructor() {
    this.#show();
    addEventListener('storage', ({ key, newValue }) => {
      if (key === THEME) this.theme = THEMES.find((theme) => theme === newValue) ?? 'system';
      if (key === NAME && newValue) this.#name = newValue;
    });
  }

  get theme(): Theme {
    return this.#theme;
  }

  set theme(theme: Theme) {
    this.#theme = theme;
    localStorage.setItem(THEME, theme);
    this.#show();
  }

  /** The name that others see, and the author in the history. */
  get name(): string {
    return this.#name;
  }

  set name(name: string) {
    this.#name = name.trim().slice(0, 40) || newName();
    localStorage.setItem(NAME, this.#name);
  }

  /** Whether single letters are commands while no field has the focus. */
  get hasShortcuts(): boolean {
    return this.#hasShortcuts;
  }

  set hasShortcuts(isOn: boolean) {
    this.#hasShortcuts = isOn;
    localStorage.setItem(SHORTCUTS, isOn ? 'on' : 'off');
  }

  /** Widths of the list and of the inspector in pixels. */
  get widths(): { list: number; inspector: number } {
    return this.#widths;
  }

  setWidth(column: 'list' | 'inspector', width: number): void {
    this.#widths = { ...this.#widths, [column]: width };
    localStorage.setItem(WIDTHS, JSON.stringify(this.#widths));
  }

  #show(): void {
    const root = document.documentElement;
    if (this.#theme === 'system') delete root.dataset['theme'];
    else root.dataset['theme'] = this.#theme;
  }
}

/** A name for a person who has chosen none. It stays the same in this browser. */
function newName(): string {
  const name = texts.people.guest(10 + Math.floor(Math.random() * 90));
  localStorage.setItem(NAME, name);
  return name;
}

function readWidths(): { list: number; inspector: number } {
  const widths = { list: 272, inspector: 392 };
  try {
    const stored = JSON.parse(localStorage.getItem(WIDTHS) ?? '{}') as Partial<typeof widths>;
    if (typeof stored.list === 'number') widths.list = stored.list;
    if (typeof stored.inspector === 'number') widths.inspector = stored.inspector;
  } catch {
    // Another version has written it.
  }
  return widths;
}

export const settings = new Settings();
