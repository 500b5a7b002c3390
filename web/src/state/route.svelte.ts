// The place inside of the area of prompts: `#/prompts/jokes/dad?view=history&rev=12`.

import { place, placeHref, type Query } from './place.svelte';

/** What is shown beside the text, or in its place on a narrow screen. */
export const VIEWS = ['edit', 'preview', 'details', 'history', 'uses'] as const;
export type View = (typeof VIEWS)[number];

export interface PromptPlace {
  /** The document; `null` for the list alone. */
  id: string | null;
  view: View;
  /** The old revision that is shown in place of the editor. */
  rev: number | null;
}

const AREA = 'prompts';

class Route {
  readonly #place = $derived(read(place.path, place.query));

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
    place.open(pathOf(id), queryOf({ view, rev: null }));
  }

  /** Moves to another document, view or revision, without an entry in the history. */
  move(change: Partial<PromptPlace>): void {
    const next = { ...this.#place, ...change };
    place.move(pathOf(next.id), queryOf(next));
  }

  /** The next document is shown in the same inspector, but not in a history that it may not have. */
  #kept(): View {
    return this.#place.view === 'history' ? 'edit' : this.#place.view;
  }
}

export const route = new Route();

/** The link to a place. */
export function hrefOf({ id = null, view = 'edit', rev = null }: Partial<PromptPlace>): string {
  return placeHref(pathOf(id), queryOf({ view, rev }));
}

function pathOf(id: string | null): string[] {
  return id === null ? [AREA] : [AREA, ...id.split('/')];
}

function queryOf({ view, rev }: { view: View; rev: number | null }): Partial<Query> {
  return { view: view === 'edit' ? '' : view, rev: rev === null ? '' : String(rev) };
}

function read(path: readonly string[], query: Query): PromptPlace {
  const rev = Number(query['rev']);
  const view = VIEWS.find((known) => known === query['view']) ?? 'edit';
  const id = path[0] === AREA ? path.slice(1).join('/') : '';
  return { id: id || null, view, rev: Number.isSafeInteger(rev) && rev > 0 ? rev : null };
}
