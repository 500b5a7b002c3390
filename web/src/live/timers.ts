// Timers with names: each name runs at most once at a time.

export class Timers {
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();

  /** Runs something after a time, unless it waits already. */
  later(name: string, time: number, run: () => void): void {
    if (!this.#timers.has(name)) this.restart(name, time, run);
  }

  /** Runs something after a time, counted from now. */
  restart(name: string, time: number, run: () => void): void {
    this.stop(name);
    const fire = (): void => {
      this.#timers.delete(name);
      run();
    };
    this.#timers.set(name, setTimeout(fire, time));
  }

  stop(name: string): void {
    clearTimeout(this.#timers.get(name));
    this.#timers.delete(name);
  }

  stopAll(): void {
    for (const name of [...this.#timers.keys()]) this.stop(name);
  }
}
