// The connection of one document: opens the socket, tells its messages, and opens it again after a
// loss, with growing pauses. It does not know what the messages mean.

import { socketProtocols } from '../api/http';
import { CLOSE, PROTOCOL, type ClientMessage, type ServerMessage } from './messages';

/** The state of a connection, for people: what is waited for, since when, and the next try. */
export type Link =
  | { state: 'connecting'; since: number }
  | { state: 'open' }
  | { state: 'waiting'; since: number; nextTry: number; failures: number }
  | { state: 'ended'; code: number; reason: string };

export interface SocketEvents {
  message(message: ServerMessage): void;
  link(link: Link): void;
}

/** Pauses before the first, the second, … try, in milliseconds; the last one repeats. */
const PAUSES = [300, 1_000, 2_000, 4_000, 8_000, 15_000] as const;
/** Time after which a connection that has not opened is given up. */
const OPEN_TIME = 10_000;

export class DocumentSocket {
  readonly #url: () => string;
  readonly #events: SocketEvents;
  #socket: WebSocket | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #lostAt = 0;
  #isClosed = false;

  /** `url` is called for every try: the id of a document may change. */
  constructor(url: () => string, events: SocketEvents) {
    this.#url = url;
    this.#events = events;
    addEventListener('online', this.#retryNow);
    document.addEventListener('visibilitychange', this.#retryNow);
    this.#open();
  }

  /** Sends a message if the connection is open. */
  send(message: ClientMessage): boolean {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(message));
    return true;
  }

  /** Tries again at once. */
  retry(): void {
    if (this.#isClosed || this.#socket) return;
    clearTimeout(this.#timer);
    this.#open();
  }

  /** Ends the connection and opens it again, after something went wrong in it. */
  restart(): void {
    this.#socket?.close();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    removeEventListener('online', this.#retryNow);
    document.removeEventListener('visibilitychange', this.#retryNow);
    const socket = this.#socket;
    this.#socket = null;
    // Browsers report a connection that is closed before it is open as an error.
    if (socket?.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
    else socket?.close();
  }

  readonly #retryNow = (): void => {
    if (!document.hidden && navigator.onLine) this.retry();
  };

  #open(): void {
    const socket = new WebSocket(this.#url(), socketProtocols(PROTOCOL.name));
    this.#socket = socket;
    const isCurrent = (): boolean => this.#socket === socket && !this.#isClosed;
    if (!this.#lostAt) this.#events.link({ state: 'connecting', since: Date.now() });
    const giveUp = setTimeout(() => socket.close(), OPEN_TIME);
    socket.onopen = () => clearTimeout(giveUp);
    socket.onmessage = ({ data }: MessageEvent<unknown>) => {
      const message = isCurrent() && typeof data === 'string' ? parse(data) : null;
      if (!message) return;
      if (message.action === 'initial') {
        this.#failures = 0;
        this.#lostAt = 0;
        this.#events.link({ state: 'open' });
      }
      this.#events.message(message);
    };
    socket.onclose = ({ code, reason }) => {
      clearTimeout(giveUp);
      if (isCurrent()) this.#lost(code, reason);
    };
  }

  #lost(code: number, reason: string): void {
    this.#socket = null;
    if (code === CLOSE.notFound || code === CLOSE.tooLarge || code === CLOSE.refused) {
      this.#events.link({ state: 'ended', code, reason });
      return;
    }
    this.#failures += 1;
    this.#lostAt ||= Date.now();
    const pause = PAUSES[Math.min(this.#failures, PAUSES.length) - 1] ?? PAUSES[0];
    // Many pages that have lost the same server do not come back at the same moment.
    const delay = pause * (0.75 + Math.random() / 2);
    this.#events.link({
      state: 'waiting',
      since: this.#lostAt,
      nextTry: Date.now() + delay,
      failures: this.#failures,
    });
    this.#timer = setTimeout(() => this.#open(), delay);
  }
}

function parse(data: string): ServerMessage | null {
  try {
    const message: unknown = JSON.parse(data);
    const isMessage = typeof message === 'object' && message !== null && 'action' in message;
    return isMessage ? (message as ServerMessage) : null;
  } catch {
    return null;
  }
}
