// Keys of the page: each part registers its own while it is shown. Single letters rest while a
// field has the focus, and can be turned off.

import { untrack } from 'svelte';

import { settings } from './settings.svelte';

export interface Key {
  /**
   * `j`, `Enter`, `Ctrl+Enter`, `.`; on a Mac, Ctrl is also the command key. Several are separated
   * by spaces. `g>o` is a sequence: G, then O.
   */
  keys: string;
  /** What it does, for the sheet of all keys. */
  about: string;
  /** Answers `false` if it did nothing, so that the next part or the browser gets the key. */
  run: (event: KeyboardEvent) => void | boolean;
  /** Whether it also works while a field has the focus. Keys with Ctrl always do. */
  isGlobal?: boolean;
}

export interface KeyGroup {
  name: string;
  keys: readonly Key[];
}

/** Time in milliseconds in which the second key of a sequence is expected. */
const SEQUENCE_TIME = 1_500;
/** Elements that do something by themselves when Enter or Space is pressed on them. */
const PRESSABLE = 'button, a[href], summary, input, select, [role=button], [role=tab], [role=radio], [role=menuitem]';

class Keys {
  #groups = $state.raw<readonly KeyGroup[]>([]);
  /** The first key of a sequence, and when it was pressed. */
  #first: { key: string; at: number } | null = null;

  /** The registered groups, the newest first. */
  get groups(): readonly KeyGroup[] {
    return this.#groups;
  }

  /** Registers keys: `$effect(() => keys.use('Traces', [...]))`. The result removes them. */
  use(name: string, keys: readonly Key[]): () => void {
    const group = { name, keys };
    // An effect that registers something must not depend on what is registered.
    this.#groups = [group, ...untrack(() => this.#groups)];
    return () => {
      this.#groups = untrack(() => this.#groups).filter((other) => other !== group);
    };
  }

  /**
   * Runs the first registered key that takes the event. The second key of a sequence wins over all
   * other keys of the same name.
   */
  handle(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.isComposing) return;
    const pressed = nameOf(event);
    if (pressed === null) return;
    const first = this.#takeFirst(event.timeStamp);
    if (first && this.#run(`${first}>${pressed}`, event)) return;
    if (this.#run(pressed, event)) return;
    if (this.#all().some(({ keys }) => keys.split(' ').some((key) => key.startsWith(`${pressed}>`)))) {
      if (!isSingle(event) || (!hasField(event) && settings.hasShortcuts)) {
        this.#first = { key: pressed, at: event.timeStamp };
      }
    }
  }

  #all(): Key[] {
    return this.#groups.flatMap((group) => group.keys);
  }

  #takeFirst(now: number): string | null {
    const first = this.#first;
    this.#first = null;
    return first && now - first.at < SEQUENCE_TIME ? first.key : null;
  }

  #run(name: string, event: KeyboardEvent): boolean {
    const isField = hasField(event);
    const isLetter = event.key.length === 1;
    for (const key of this.#all()) {
      if (!key.keys.split(' ').includes(name)) continue;
      if (isSingle(event) && isField && !key.isGlobal) continue;
      if (isSingle(event) && isLetter && !settings.hasShortcuts) continue;
      if (isPressed(event)) continue;
      if (key.run(event) === false) continue;
      event.preventDefault();
      return true;
    }
    return false;
  }
}

export const keys = new Keys();

/** The name of a pressed key, as `Key.keys` writes it; `null` for Shift and the like alone. */
export function nameOf(event: KeyboardEvent): string | null {
  if (['Shift', 'Control', 'Alt', 'Meta', 'AltGraph'].includes(event.key)) return null;
  const key = event.key.length === 1 && event.key !== ' ' ? event.key.toLowerCase() : event.key;
  const parts = [event.ctrlKey || event.metaKey ? 'Ctrl' : '', event.altKey ? 'Alt' : ''];
  const shift = event.shiftKey && event.key.length > 1 ? 'Shift' : '';
  return [...parts, shift, key === ' ' ? 'Space' : key].filter(Boolean).join('+');
}

/** Whether the key is pressed alone. Esc is always allowed. */
function isSingle(event: KeyboardEvent): boolean {
  return !event.ctrlKey && !event.metaKey && !event.altKey && event.key !== 'Escape';
}

/** Whether a button or link has the focus and takes this key itself. */
function isPressed(event: KeyboardEvent): boolean {
  if (!isSingle(event) || (event.key !== 'Enter' && event.key !== ' ')) return false;
  const target = event.composedPath()[0];
  return target instanceof HTMLElement && target.matches(PRESSABLE);
}

/** Whether a field has the focus, also one inside of the editor's shadow root. */
function hasField(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches('input:not([type=checkbox], [type=radio]), textarea, select');
}
