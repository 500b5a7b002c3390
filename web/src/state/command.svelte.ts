// The command of the bar at the bottom: the same on the command line. The shown area provides it.

import { untrack } from 'svelte';

import { shellWord } from '../ui/shell';

export interface CopyForm {
  /** `curl`, `Rust`. */
  name: string;
  /** Made when it is wanted: it may be long. */
  text: () => string;
}

export interface Command {
  /** The command, one line. */
  line: string;
  /** Other forms of it, for "Copy as". */
  forms?: readonly CopyForm[];
}

class CurrentCommand {
  #providers = $state.raw<readonly (() => Command)[]>([]);

  get line(): string {
    return this.#current?.line ?? 'oxikit --help';
  }

  get forms(): readonly CopyForm[] {
    return this.#current?.forms ?? [];
  }

  /** Provides the command while a part is shown: `$effect(() => command.use(() => ({ line })))`. */
  use(provider: () => Command): () => void {
    // An effect that registers something must not depend on what is registered.
    this.#providers = [provider, ...untrack(() => this.#providers)];
    return () => {
      this.#providers = untrack(() => this.#providers).filter((other) => other !== provider);
    };
  }

  readonly #current = $derived(this.#providers[0]?.());
}

export const command = new CurrentCommand();

/** A command line of words, each quoted as a shell needs it. */
export function commandLine(...words: (string | number | false | null | undefined)[]): string {
  const used = words.filter((word) => word !== false && word !== null && word !== undefined);
  return used.map((word) => shellWord(String(word))).join(' ');
}
