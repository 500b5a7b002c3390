// The token of the developer tools. The URL that they print has it in the fragment, which browsers
// do not send; it moves from there to the storage of this tab, and out of the address bar.

const KEY = 'oxikit.token';

/** Moves the token from the address bar to the storage of the tab. Call it before all else. */
export function takeToken(): void {
  const found = /^#token=([0-9A-Za-z]+)(.*)$/.exec(location.hash);
  if (!found?.[1]) return;
  sessionStorage.setItem(KEY, found[1]);
  const rest = found[2]?.startsWith('/') ? `#${found[2]}` : '#/';
  history.replaceState(null, '', location.pathname + location.search + rest);
  // Browsers do not report it, and the place of the page has to be read again.
  dispatchEvent(new HashChangeEvent('hashchange'));
}

/** The token of this tab; `null` if it has none. */
export function token(): string | null {
  return sessionStorage.getItem(KEY);
}

/** Keeps a token that a person has pasted: the token itself, or the URL with it. */
export function keepToken(text: string): void {
  const found = /(?:#token=)?([0-9A-Za-z]+)\s*$/.exec(text.trim());
  if (found?.[1]) sessionStorage.setItem(KEY, found[1]);
}
