// The entry of the page.

import './styles/fonts.css';
import './styles/tokens.css';
import './styles/base.css';
import './styles/controls.css';

import { mount } from 'svelte';

import { takeCode } from './api/session';
import { takeToken } from './api/token';
import { leadEarlierLink } from './api/earlier_link';
import App from './App.svelte';
import { claimTab } from './live/drafts';
import { hasSecret } from './state/place.svelte';
import { tools } from './state/tools.svelte';

leadEarlierLink();
takeToken();
addEventListener('hashchange', () => void takeSecrets());
void claimTab();

/** A link with a code or the token was opened in this tab, which changes only the fragment. */
async function takeSecrets(): Promise<void> {
  if (!hasSecret(location.hash)) return;
  takeToken();
  await takeCode();
  tools.retry();
}

const target = document.getElementById('app');
await takeCode();
if (target) mount(App, { target });
