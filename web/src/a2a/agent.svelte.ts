// An agent that speaks A2A: its card, the conversation with it, and the raw exchange.

import { streamEvents } from '../api/events';
import { post } from '../api/tools';
import { place } from '../state/place.svelte';
import { withStep, type Call } from './exchange';
import { recent } from './recent.svelte';
import { followed, isOver, NOTHING, type Followed } from './tasks';
import { texts } from './texts';
import type { CardAnswer, Exchange, Task, Update } from './types';

/** A message to the agent, and what came of it. */
export class Asked {
  readonly text: string;
  #followed = $state.raw<Followed>(NOTHING);
  #failure = $state<string | null>(null);
  #isReading = $state(true);
  #stop = new AbortController();

  constructor(text: string, task: Task | null = null) {
    this.text = text;
    if (task) this.take({ task });
    if (task) this.#isReading = false;
  }

  get followed(): Followed {
    return this.#followed;
  }

  get failure(): string | null {
    return this.#failure;
  }

  /** Whether the page reads the updates of the task. */
  get isReading(): boolean {
    return this.#isReading;
  }

  take(update: Update): void {
    this.#followed = followed(this.#followed, update);
  }

  /** The page reads updates from now on; the signal ends that. */
  begin(): AbortSignal {
    this.#failure = null;
    this.#isReading = true;
    this.#stop = new AbortController();
    return this.#stop.signal;
  }

  /** Stops reading. The task goes on. */
  leave(): void {
    this.#stop.abort();
  }

  end(failure: string | null): void {
    this.#failure = failure;
    this.#isReading = false;
  }
}

type CardState = { state: 'loading' } | { state: 'failed'; message: string } | { state: 'ready'; answer: CardAnswer };

export class RemoteAgent {
  readonly url: string;
  #card = $state.raw<CardState>({ state: 'loading' });
  #asked = $state.raw<readonly Asked[]>([]);
  #calls = $state.raw<readonly Call[]>([]);
  /** Headers for every request, such as a key. They stay in the memory of the page. */
  headers = $state('');
  #contextId: string | null = null;

  constructor(url: string) {
    this.url = url;
  }

  get card(): CardState {
    return this.#card;
  }

  get asked(): readonly Asked[] {
    return this.#asked;
  }

  get calls(): readonly Call[] {
    return this.#calls;
  }

  /** The message whose task is shown: that of the URL, or the last one. */
  shown(taskId: string | null): Asked | null {
    return this.#asked.findLast(({ followed: { task } }) => taskId !== null && task?.id === taskId) ?? this.#asked.at(-1) ?? null;
  }

  async readCard(): Promise<void> {
    try {
      const answer = await post<CardAnswer>('/a2a/card', this.#body());
      this.#card = { state: 'ready', answer };
      recent.add({ url: this.url, name: answer.name || this.url });
    } catch (error) {
      this.#card = { state: 'failed', message: messageOf(error) };
    }
  }

  /** Sends a message. A task that asks for something gets it as the answer. */
  async send(text: string): Promise<void> {
    const last = this.#asked.at(-1)?.followed.task;
    const isAnswer = last && !isOver(last.status?.state);
    const asked = new Asked(text);
    this.#asked = [...this.#asked, asked];
    await this.#follow(asked, '/a2a/send', {
      text,
      ...(this.#contextId && { contextId: this.#contextId }),
      ...(isAnswer && { taskId: last.id }),
    });
  }

  /** Reads the updates of a task again. */
  async subscribe(asked: Asked): Promise<void> {
    const id = asked.followed.task?.id;
    if (id) await this.#follow(asked, '/a2a/subscribe', { taskId: id });
  }

  async cancel(asked: Asked): Promise<void> {
    const id = asked.followed.task?.id;
    if (!id) return;
    try {
      asked.take(await post<{ task: Task }>('/a2a/cancel', this.#body({ taskId: id })));
    } catch (error) {
      asked.end(messageOf(error));
    }
  }

  /** Reads a task by its id, and follows it if it is not over. */
  async readTask(id: string): Promise<void> {
    const known = this.#asked.find(({ followed: { task } }) => task?.id === id);
    try {
      const { task } = await post<{ task: Task }>('/a2a/task', this.#body({ taskId: id }));
      const asked = known ?? new Asked('', task);
      asked.take({ task });
      this.#contextId = task.contextId ?? this.#contextId;
      if (!known) this.#asked = [...this.#asked, asked];
    } catch (error) {
      const asked = known ?? new Asked('');
      asked.end(messageOf(error));
      if (!known) this.#asked = [...this.#asked, asked];
    }
  }

  /** Begins another conversation. */
  startAnew(): void {
    for (const asked of this.#asked) asked.leave();
    this.#asked = [];
    this.#contextId = null;
  }

  async #follow(asked: Asked, path: string, more: Record<string, unknown>): Promise<void> {
    const signal = asked.begin();
    let failure: string | null = null;
    try {
      const call = { body: this.#body(more), signal };
      await streamEvents<unknown>('POST', `/api/v1${path}`, call, (data, _, name) => {
        if (name === 'exchange') this.#calls = withStep(this.#calls, data as Exchange);
        else if (name === 'update') this.#update(asked, data as Update);
        else if (name === 'error') failure = (data as { message: string }).message;
        else if (name === 'done') this.#contextId = (data as { contextId?: string }).contextId ?? this.#contextId;
      });
    } catch (error) {
      failure = signal.aborted ? texts.talk.left : messageOf(error);
    }
    asked.end(failure);
  }

  #update(asked: Asked, update: Update): void {
    const before = asked.followed.task?.id;
    asked.take(update);
    this.#contextId = asked.followed.contextId ?? this.#contextId;
    const id = asked.followed.task?.id;
    // The task is in the URL as soon as it is known, so that it can be opened again.
    if (id && id !== before && place.area === 'a2a' && place.rest[0] === this.url) place.move(['a2a', this.url, id]);
  }

  #body(more: Record<string, unknown> = {}): Record<string, unknown> {
    const headers = parseHeaders(this.headers);
    return { url: this.url, ...(Object.keys(headers).length > 0 && { headers }), ...more };
  }
}

/** Lines `Name: value` as an object. */
export function parseHeaders(text: string): Record<string, string> {
  const pairs = text.split('\n').flatMap((line) => {
    const at = line.indexOf(':');
    return at > 0 ? [[line.slice(0, at).trim(), line.slice(at + 1).trim()] as const] : [];
  });
  return Object.fromEntries(pairs);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const agents = new Map<string, RemoteAgent>();

/** The agent with this URL. Conversations stay while the page is open. */
export function agentOf(url: string): RemoteAgent {
  const known = agents.get(url) ?? new RemoteAgent(url);
  agents.set(url, known);
  return known;
}
