// The current time, for ages and countdowns. One timer serves all of them.

class Clock {
  #now = $state(Date.now());

  constructor() {
    setInterval(() => {
      if (!document.hidden) this.#now = Date.now();
    }, 1_000);
  }

  get now(): number {
    return this.#now;
  }
}

export const clock = new Clock();
