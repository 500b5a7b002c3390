// The command that shows on the terminal what the page shows.

import { token } from '../api/token';
import { route } from '../state/route.svelte';

/** The command for the current view. */
export function commandOf(): string {
  // The commands find developer tools by themselves, and other prompt managers by their URL.
  return token() ? plainCommand() : `${plainCommand()} --url ${location.origin}`;
}

function plainCommand(): string {
  const { id, view, rev } = route;
  if (id === null) return 'oxikit prompt list';
  const name = quoted(id);
  if (rev !== null) return `oxikit prompt diff ${name} ${rev}`;
  switch (view) {
    case 'history':
      return `oxikit prompt history ${name}`;
    case 'edit':
    case 'preview':
      return `oxikit prompt render ${name}`;
    default:
      return `oxikit prompt show ${name}`;
  }
}

/** An argument as a shell takes it. */
function quoted(argument: string): string {
  return /^[\w./@:+-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}
