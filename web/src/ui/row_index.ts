// The place of a row in a long list.

/**
 * The index of the row with an id, or -1. The search goes outwards from where the row was before:
 * rows rarely move far, so that a list of a million is not looked through.
 */
export function indexOfId<Row>(rows: readonly Row[], idOf: (row: Row) => string, id: string, hint: number): number {
  const start = Math.min(Math.max(0, hint), rows.length - 1);
  for (let distance = 0; distance < rows.length; distance += 1) {
    const [below, above] = [start + distance, start - distance];
    const after = rows[below];
    if (after !== undefined && idOf(after) === id) return below;
    const before = above >= 0 && distance > 0 ? rows[above] : undefined;
    if (before !== undefined && idOf(before) === id) return above;
    if (below >= rows.length && above < 0) return -1;
  }
  return -1;
}
