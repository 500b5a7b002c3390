// Signing in. The URL that the tools print has a one-time code in the fragment, which browsers do
// not send; the page exchanges it for a cookie that scripts cannot read.

import { keepToken } from './token';
import { request } from './http';

const SIGNED_IN = 'signed in';
/** Tells the other tabs of this browser that there is a new cookie. */
const channel = new BroadcastChannel('oxikit');
const CODE = /^#code=([\w-]+)(.*)$/;

/** Takes the code out of the address bar and signs in with it. Call it before all else. */
export async function takeCode(): Promise<void> {
  const found = CODE.exec(location.hash);
  if (!found?.[1]) return;
  const rest = found[2]?.startsWith('/') ? `#${found[2]}` : '#/';
  history.replaceState(null, '', location.pathname + location.search + rest);
  // Browsers do not report it, and the place of the page has to be read again.
  dispatchEvent(new HashChangeEvent('hashchange'));
  // A used code is no harm: the cookie may be there already.
  await signIn(found[1]).catch(() => undefined);
}

/** Signs in with a code, the URL that contains it, or a URL or text with the token. */
export async function signInWith(text: string): Promise<void> {
  const code = /#code=([\w-]+)/.exec(text)?.[1];
  if (code) return signIn(code);
  if (/#token=/.test(text)) {
    keepToken(text);
    return;
  }
  await signIn(text.trim());
}

/** Calls the function when another tab has signed in. */
export function onSignedIn(listener: () => void): void {
  channel.addEventListener('message', ({ data }) => data === SIGNED_IN && listener());
}

export async function signOut(): Promise<void> {
  await request('POST', '/api/v1/sign-out', { body: {} });
}

async function signIn(code: string): Promise<void> {
  await request('POST', '/api/v1/sign-in', { body: { code } });
  channel.postMessage(SIGNED_IN);
}
