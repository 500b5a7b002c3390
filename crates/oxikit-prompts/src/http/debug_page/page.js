// Tries the WebSockets of the prompt manager by hand. Received text is only ever inserted as text.
'use strict';

const byId = (id) => document.getElementById(id);
const actions = () => document.querySelectorAll('.action');
/** Maximum number of messages that are shown. Older ones are removed. */
const MAX_SHOWN = 200;
let socket = null;

/** The token of the developer tools: from the fragment of the URL, or from this tab's storage. */
function token() {
  const found = /^#token=([0-9A-Za-z]+)/.exec(location.hash);
  if (found) {
    sessionStorage.setItem('oxikit.token', found[1]);
    history.replaceState(null, '', location.pathname);
  }
  return sessionStorage.getItem('oxikit.token');
}

function url() {
  const id = encodeURIComponent(byId('id').value);
  const paths = { prompt: `/api/prompts/ws/${id}`, fragment: `/api/prompts/ws/fragments/${id}`, echo: '/api/ws/test' };
  const own = token();
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
  return `${scheme}://${location.host}${own ? `/k/${own}` : ''}${paths[byId('kind').value]}`;
}

function show(title, text) {
  const entry = document.createElement('li');
  const heading = document.createElement('span');
  heading.textContent = `${new Date().toISOString()} ${title}`;
  const body = document.createElement('pre');
  body.textContent = text;
  entry.append(heading, body);
  byId('log').prepend(entry);
  while (byId('log').childElementCount > MAX_SHOWN) byId('log').lastElementChild.remove();
}

function setState(text, isOpen) {
  byId('state').textContent = text;
  byId('send').disabled = !isOpen;
  byId('disconnect').disabled = !isOpen;
  for (const button of actions()) button.disabled = !isOpen;
}

function received(text) {
  show('received', text);
  let message = null;
  try {
    message = JSON.parse(text);
  } catch {
    return;
  }
  if (message?.action === 'initial' || message?.action === 'update') {
    byId('content').value = message.content;
  }
}

function send(text) {
  socket?.send(text);
  show('sent', text);
}

function connect(event) {
  event.preventDefault();
  socket?.close();
  const opened = new WebSocket(url());
  socket = opened;
  setState('connecting', false);
  opened.onopen = () => setState('connected', true);
  opened.onmessage = ({ data }) => received(String(data));
  opened.onclose = ({ code, reason }) => {
    show('closed', `${code} ${reason}`);
    if (socket === opened) setState(`closed: ${code} ${reason}`, false);
  };
}

byId('connection').addEventListener('submit', connect);
byId('disconnect').addEventListener('click', () => socket?.close());
byId('send').addEventListener('click', () => send(byId('message').value));
for (const button of actions()) {
  button.addEventListener('click', () => {
    send(JSON.stringify({ action: button.dataset.action, content: byId('content').value }));
  });
}
token();
