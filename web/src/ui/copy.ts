// The clipboard.

import { notices } from '../state/notices.svelte';

/** Copies a text, and says so. */
export async function copy(text: string, said: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notices.show(said);
  } catch {
    // Browsers refuse it on pages of an origin that is not secure, and without a gesture.
    notices.show(text);
  }
}
