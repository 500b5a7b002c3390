// What other areas ask of the runner, which may not be loaded yet.

class Requests {
  /** Counts drafts that were written from elsewhere. */
  #drafts = $state(0);
  #toRun = $state<string | null>(null);

  get drafts(): number {
    return this.#drafts;
  }

  /** The action that is to be run as soon as it is open. */
  get toRun(): string | null {
    return this.#toRun;
  }

  readAgain(): void {
    this.#drafts += 1;
  }

  run(key: string): void {
    this.#toRun = key;
  }

  taken(): void {
    this.#toRun = null;
  }
}

export const requests = new Requests();
