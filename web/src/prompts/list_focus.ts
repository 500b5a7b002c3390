// Moving through the list by keys, from everywhere on the page.

import { route } from '../state/route.svelte';

/** The id of the element with the rows. */
export const LIST = 'documents';

/** The id of the row of a document. */
export function rowId(id: string): string {
  return `row-${id}`;
}

export function isInList(element: Element | null): boolean {
  return element?.closest(`#${LIST}`) !== null && element !== null;
}

/** Opens the next (1) or the previous (-1) row. */
export function stepInList(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>(`#${LIST} [role=option]`)];
  const at = rows.findIndex((row) => row.dataset['id'] === route.id);
  const start = by > 0 ? 0 : rows.length - 1;
  const row = rows[at < 0 ? start : Math.min(rows.length - 1, Math.max(0, at + by))];
  openRow(row);
}

/** Opens the first or the last row. */
export function jumpInList(isEnd: boolean): void {
  const rows = document.querySelectorAll<HTMLElement>(`#${LIST} [role=option]`);
  openRow(rows[isEnd ? rows.length - 1 : 0]);
}

function openRow(row: HTMLElement | undefined): void {
  const id = row?.dataset['id'];
  if (!id || id === route.id) return;
  // Moving replaces the entry of the browser's history, opening from the list alone makes one.
  if (route.id === null) route.open(id);
  else route.move({ id, rev: null });
  row.scrollIntoView({ block: 'nearest' });
}
