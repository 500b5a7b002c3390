// Actions in the command palette. This is loaded with the frame, without the runner.

import { matches, type PaletteEntry } from '../state/palette.svelte';
import { place } from '../state/place.svelte';
import { kindOf } from '../ui/kinds';
import { actions } from './actions.svelte';
import { actionPath } from './keys';
import { openAndRun } from './open';
import { texts } from './texts';

const MAX_ENTRIES = 12;

/** A source of the palette: `palette.use(actionEntries)`. */
export async function actionEntries(text: string): Promise<PaletteEntry[]> {
  await actions.readOnce();
  const found = actions.rows.filter((row) => !row.isHelper && matches(text, row.key, row.description));
  return found.slice(0, MAX_ENTRIES).map((row) => ({
    id: `action ${row.key}`,
    name: row.name,
    about: texts.palette.run(kindOf(row.kind).name),
    kind: row.kind,
    open: () => place.open(actionPath(row.key)),
    run: () => openAndRun(row.key),
  }));
}
