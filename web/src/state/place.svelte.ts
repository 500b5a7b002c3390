// The view of the page, in the fragment of the URL: `#/traces/4f2a?span=9c`. The fragment works
// wherever a server mounts the page. Opening pushes history; moving replaces it.

export type Query = Record<string, string>;

export interface Place {
  /** The segments of the path, decoded: `['traces', '4f2a']`. */
  path: readonly string[];
  query: Query;
}

class CurrentPlace {
  #place = $state.raw<Place>(parsePlace(location.hash));

  constructor() {
    const read = (): void => {
      // The code or the token is taken out of the fragment first, which is then read again.
      if (!hasSecret(location.hash)) this.#place = parsePlace(location.hash);
    };
    addEventListener('hashchange', read);
    addEventListener('popstate', read);
  }

  /** The first segment; empty for the overview. */
  get area(): string {
    return this.#place.path[0] ?? '';
  }

  /** The segments after the area. */
  get rest(): readonly string[] {
    return this.#place.path.slice(1);
  }

  get path(): readonly string[] {
    return this.#place.path;
  }

  get query(): Query {
    return this.#place.query;
  }

  /** Opens a place. It can be undone by the browser's Back. */
  open(path: readonly string[], query: Partial<Query> = {}): void {
    this.#go({ path, query: withoutEmpty(query) }, true);
  }

  /** Opens the place of a link that [`placeHref`] has made. */
  openHref(href: string): void {
    this.#go(parsePlace(href), true);
  }

  /** Moves to another path, without an entry in the history. The query is replaced. */
  move(path: readonly string[], query: Partial<Query> = this.#place.query): void {
    this.#go({ path, query: withoutEmpty(query) }, false);
  }

  /** Changes members of the query, without an entry in the history. Empty ones are removed. */
  set(change: Partial<Query>): void {
    this.move(this.#place.path, { ...this.#place.query, ...change });
  }

  #go(place: Place, isPushed: boolean): void {
    const url = placeHref(place.path, place.query);
    this.#place = place;
    if (url === (location.hash || '#/')) return;
    if (isPushed) history.pushState(null, '', url);
    else history.replaceState(null, '', url);
  }
}

/** Whether a fragment begins with a code that signs in, or with the token. */
export function hasSecret(hash: string): boolean {
  return /^#(?:code|token)=/.test(hash);
}

export const place = new CurrentPlace();

/** The link to a place: `placeHref(['traces', id], { span })`. */
export function placeHref(path: readonly string[], query: Partial<Query> = {}): string {
  const search = new URLSearchParams(withoutEmpty(query)).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${search ? `?${search}` : ''}`;
}

export function parsePlace(hash: string): Place {
  const [path = '', search = ''] = splitOnce(hash.replace(/^#\/?/, ''), '?');
  const segments = path.split('/').filter(Boolean).map(decode);
  return { path: segments, query: Object.fromEntries(new URLSearchParams(search)) };
}

function splitOnce(text: string, by: string): [string, string] {
  const at = text.indexOf(by);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

function withoutEmpty(query: Partial<Query>): Query {
  const entries = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return Object.fromEntries(entries);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
