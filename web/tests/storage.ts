// The storage and the locks of a browser, for tests of drafts. It has to be imported before what it is for.

class FakeStorage {
  [name: string]: unknown;

  getItem(name: string): string | null {
    return Object.hasOwn(this, name) ? (this[name] as string) : null;
  }

  setItem(name: string, text: string): void {
    if (isFull) throw new Error('QuotaExceededError');
    this[name] = text;
  }

  removeItem(name: string): void {
    delete this[name];
  }
}

/** The names of the locks that tabs hold. */
const held = new Set<string>();
let isFull = false;

const locks = {
  request(name: string, _options: unknown, taken: (lock: { name: string } | null) => unknown): Promise<unknown> {
    const isFree = !held.has(name);
    held.add(name);
    return Promise.resolve(taken(isFree ? { name } : null));
  },
  query: () => Promise.resolve({ held: [...held].map((name) => ({ name })) }),
};

const stored = { localStorage: new FakeStorage(), sessionStorage: new FakeStorage(), navigator: { locks } };
for (const [name, value] of Object.entries(stored)) {
  Object.defineProperty(globalThis, name, { value, configurable: true });
}

/** Closes the tabs that are open. */
export function closeTabs(): void {
  held.clear();
}

export function setFull(full: boolean): void {
  isFull = full;
}

/** Removes all that is stored. */
export function clear(): void {
  held.clear();
  for (const name of Object.keys(localStorage)) localStorage.removeItem(name);
}
