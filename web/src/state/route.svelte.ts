// The view of the page, in the fragment of the URL: `#/prompts/jokes/dad?view=history&rev=12`. The
// fragment works wherever a server mounts the page. Opening pushes history; moving replaces it.

/** What is shown beside the text, or in its place on a narrow screen. */
export const VIEWS = ['edit', 'preview', 'details', 'history', 'uses'] as const;
export type View = (typeof VIEWS)[number];

export interface Place {
  /** The document; `null` for the list alone. */
  id: string | null;
  view: View;
  /** The old revision that is shown in place of the editor. */
  rev: number | null;
}

const ROOT = '#/prompts';

class Route {
  #place = $state<Place>(parse(location.hash));

  constructor() {
    addEventListener('hashchange', () => (this.#place = parse(location.hash)));
    addEventListener('popstate', () => (this.#place = parse(location.hash)));
  }

  get id(): string | null {
    return this.#place.id;
  }

  get view(): View {
    return this.#place.view;
  }

  get rev(): number | null {
    return this.#place.rev;
  }

  /** Opens a document, or the list. It can be undone by the browser's Back. */
  open(id: string | null): void {
    const view = id === null ? 'edit' : this.#kept();
    this.#go({ id, view, rev: null }, true);
  }

  /** Moves to another document, view or revision, without an entry in the history. */
  move(change: Partial<Place>): void {
    this.#go({ ...this.#place, ...change }, false);
  }

  /** The next document is shown in the same inspector, but not in a history that it may not have. */
  #kept(): View {
    return this.#place.view === 'history' ? 'edit' : this.#place.view;
  }

  #go(place: Place, isPushed: boolean): void {
    this.#place = place;
    const url = hrefOf(place);
    if (url === location.hash) return;
    if (isPushed) history.pushState(null, '', url);
    else history.replaceState(null, '', url);
  }
}

export const route = new Route();

/** The link to a place. */
export function hrefOf({ id, view = 'edit', rev = null }: Partial<Place>): string {
  if (id === null || id === undefined) return `${ROOT}`;
  const path = id.split('/').map(encodeURIComponent).join('/');
  const query = new URLSearchParams();
  if (view !== 'edit') query.set('view', view);
  if (rev !== null) query.set('rev', String(rev));
  const text = query.toString();
  return `${ROOT}/${path}${text ? `?${text}` : ''}`;
}

function parse(hash: string): Place {
  const [path = '', search = ''] = hash.split('?', 2);
  const query = new URLSearchParams(search);
  const rev = Number(query.get('rev'));
  const view = VIEWS.find((known) => known === query.get('view')) ?? 'edit';
  const segments = path.startsWith(`${ROOT}/`) ? path.slice(ROOT.length + 1).split('/') : [];
  const id = segments.map(decode).join('/');
  return { id: id || null, view, rev: Number.isSafeInteger(rev) && rev > 0 ? rev : null };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
