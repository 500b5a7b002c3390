// Links to the address that the prompts had earlier, `/prompts`. The server redirects them to
// `/?prompts`, and the browser keeps the fragment, which may have a code or the token.

/** Leads such a link to the view of the prompts. Call it before the code and the token are taken. */
export function leadEarlierLink(): void {
  if (location.search !== '?prompts') return;
  history.replaceState(null, '', location.pathname + earlierFragment(location.hash));
  // Browsers do not report it, and the place of the page has to be read again.
  dispatchEvent(new HashChangeEvent('hashchange'));
}

/** The fragment of the view that a link to `/prompts` with this fragment names. */
export function earlierFragment(fragment: string): string {
  const secret = /^#(?:code|token)=[\w-]+$/.exec(fragment);
  if (secret) return `${fragment}/prompts`;
  return fragment.length > 1 ? fragment : '#/prompts';
}
