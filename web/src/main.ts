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

leadEarlierLink();
takeToken();
void claimTab();

const target = document.getElementById('app');
await takeCode();
if (target) mount(App, { target });
