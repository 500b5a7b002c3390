// Opens an action with an input, from any area: a model span in the playground, a case of a data set.

import { writeJson } from '../form/json_text';
import { place } from '../state/place.svelte';
import { emptyDraft, writeDraft } from './call';
import { actionPath } from './keys';
import { requests } from './requests.svelte';

/** Opens the runner of an action with this input as its draft. */
export function openWithInput(key: string, input: unknown, options: { runtime?: string } = {}): void {
  writeDraft(sessionStorage, key, { ...emptyDraft(), text: writeJson(input), value: input });
  requests.readAgain();
  place.open(actionPath(key), { ...(options.runtime && { runtime: options.runtime }) });
}

/** Opens an action and runs it with its last input. */
export function openAndRun(key: string): void {
  requests.run(key);
  place.open(actionPath(key));
}
