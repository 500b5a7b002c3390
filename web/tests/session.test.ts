// The three texts against a model of the server: random histories with delays, lost answers, lost
// connections and closed tabs.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { merge } from '../src/live/merge';
import { applyPatch, type PatchOp } from '../src/live/patch';
import { LiveText, TextBuffer, type Answer, type Draft, type Submission } from '../src/live/session';
import { randomEdit, Random } from './random';

/** A server as the protocol describes it, without a network. */
class Server {
  texts = ['']; // by revision
  rev = 0;
  answers = new Map<string, Answer>();
  /** Every word that was sent. */
  history: string[] = [];

  constructor(text: string) {
    this.texts[0] = text;
  }

  get text(): string {
    return this.texts[this.rev] ?? '';
  }

  submit(submission: Submission): Answer {
    const known = this.answers.get(submission.op);
    if (known) return known;
    const base = this.texts[submission.baseRev] ?? '';
    const content = applyPatch(base, submission.ops);
    assert.equal(content, submission.content);
    this.history.push(submission.content);
    const stored = merge(base, this.text, submission.content).text;
    this.rev += 1;
    this.texts[this.rev] = stored;
    const answer = { success: true, rev: this.rev, merged: stored !== submission.content };
    this.answers.set(submission.op, answer);
    return answer;
  }
}

type Message =
  | { kind: 'answer'; op: string; answer: Answer }
  | { kind: 'text'; rev: number }
  | { kind: 'patch'; rev: number; baseRev: number; ops: PatchOp[] };

class Client {
  screen = new TextBuffer();
  live: LiveText;
  inbox: Message[] = [];
  outbox: Submission[] = [];
  isOnline = true;
  #ops = 0;

  constructor(readonly name: string, server: Server, draft: Draft | null = null) {
    this.live = new LiveText(this.screen, () => `${name}-${(this.#ops += 1)}-${Math.random()}`);
    this.live.begin(server.text, server.rev, draft);
    if (this.live.sent) this.outbox.push(this.live.sent);
  }

  type(random: Random, word: string, mayReplace: boolean): void {
    this.screen.write(randomEdit(random, this.screen.read(), word, mayReplace));
  }

  send(): void {
    if (!this.isOnline) return;
    const submission = this.live.next();
    if (submission) this.outbox.push(submission);
  }

  take(server: Server): void {
    const message = this.inbox.shift();
    if (!message) return;
    if (message.kind === 'answer') this.live.answered(message.op, message.answer);
    else if (message.kind === 'text') this.live.received(server.texts[message.rev] ?? '', message.rev);
    else if (!this.live.patched(message.ops, message.baseRev, message.rev)) this.live.received(server.text, server.rev);
  }

  lose(): void {
    this.isOnline = false;
    this.inbox = [];
    this.outbox = [];
  }

  reconnect(server: Server): void {
    this.isOnline = true;
    this.live.reconnected(server.text, server.rev);
    if (this.live.sent) this.outbox.push(this.live.sent);
  }
}

/** Lets the server handle the oldest submission of a client. */
function handle(server: Server, clients: Client[], sender: Client, isLost: boolean): void {
  const submission = sender.outbox.shift();
  if (!submission) return;
  const before = server.rev;
  const answer = server.submit(submission);
  if (!isLost) sender.inbox.push({ kind: 'answer', op: submission.op, answer });
  if (server.rev === before) return;
  for (const client of clients) {
    if (!client.isOnline || (client === sender && !answer.merged)) continue;
    client.inbox.push({ kind: 'text', rev: server.rev });
  }
}

function settle(server: Server, clients: Client[]): void {
  for (let round = 0; round < 200; round += 1) {
    for (const client of clients) {
      if (!client.isOnline) client.reconnect(server);
      client.send();
      while (client.outbox.length) handle(server, clients, client, false);
      while (client.inbox.length) client.take(server);
    }
    if (clients.every((client) => !client.live.isDirty && client.live.rev === server.rev)) return;
  }
  assert.fail('the clients do not come to rest');
}

/** Runs a random history until all is quiet. Returns the server and the words that were typed. */
function runHistory(seed: number, mayReplace: boolean): { server: Server; typed: string[] } {
  const random = new Random(seed);
  const server = new Server('The tea shop opens at nine. Please order green tea, or a cake.\n\nThank you.');
  const clients = ['a', 'b', 'c'].map((name) => new Client(name, server));
  const typed: string[] = [];
  for (let step = 0; step < 120; step += 1) {
    const at = random.below(clients.length);
    const client = clients[at] as Client;
    const action = random.below(20);
    if (action < 5) {
      const word = `${client.name}${seed}w${typed.length}`;
      client.type(random, word, mayReplace);
      typed.push(word);
    } else if (action < 9) client.send();
    else if (action < 13) handle(server, clients, client, false);
    else if (action < 18) client.take(server);
    else if (action === 18 && client.isOnline) {
      // The answer is on its way when the connection is lost.
      handle(server, clients, client, true);
      client.lose();
    } else if (action === 18) client.reconnect(server);
    else if (random.below(3) === 0) {
      // The tab is closed; another one takes its draft.
      const draft = client.live.isDirty ? (JSON.parse(JSON.stringify(client.live.draft)) as Draft) : null;
      clients[at] = new Client(client.name, server, draft);
    }
  }
  settle(server, clients);
  for (const client of clients) assert.equal(client.screen.read(), server.text, `seed ${seed}`);
  return { server, typed };
}

test('all clients end with the text of the server', () => {
  for (let seed = 1; seed <= 300; seed += 1) runHistory(seed, true);
});

test('every word that was inserted is in the final text once', () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    const { server, typed } = runHistory(seed, false);
    for (const word of typed) {
      const count = server.text.match(new RegExp(`\\b${word}\\b`, 'g'))?.length ?? 0;
      assert.equal(count, 1, `seed ${seed}: ${word} in ${server.text}`);
    }
  }
});

test('a refused edit stays on screen and is sent again', () => {
  const server = new Server('one');
  const client = new Client('a', server);
  client.screen.write('one two');
  const submission = client.live.next();
  assert.ok(submission);
  client.live.answered(submission.op, { success: false });
  assert.equal(client.screen.read(), 'one two');
  assert.ok(client.live.isDirty);
  const again = client.live.next();
  assert.notEqual(again?.op, submission.op);
  assert.equal(again?.content, 'one two');
});

test('a change that does not fit asks for the whole text', () => {
  const client = new Client('a', new Server('one'));
  assert.equal(client.live.patched([['keep', 3], ['insert', '!']], 0, 1), true);
  assert.equal(client.screen.read(), 'one!');
  assert.equal(client.live.patched([['keep', 9]], 1, 2), false);
  assert.equal(client.live.patched([], 7, 8), false);
  // An old change is no news.
  assert.equal(client.live.patched([['insert', 'x']], 0, 1), true);
  assert.equal(client.screen.read(), 'one!');
});

test('a server with another history keeps the text on screen', () => {
  const client = new Client('a', new Server('one'));
  client.live.received('one', 40);
  client.screen.write('one mine');
  client.live.next();
  client.live.reconnected('one theirs', 2);
  assert.equal(client.screen.read(), 'one theirs mine');
  const submission = client.live.next();
  assert.equal(submission?.baseRev, 2);
  assert.equal(submission?.content, 'one theirs mine');
});

test('new metadata moves the revision and not the text', () => {
  const client = new Client('a', new Server('one'));
  client.live.advanced(3);
  assert.equal(client.live.rev, 3);
  client.screen.write('one two');
  assert.equal(client.live.next()?.baseRev, 3);
});
