// One open document: its text, its metadata and the people in it, kept equal with the server. Edits
// go over the socket; while that fails, over HTTP; while that fails too, they wait in the browser.

import { ApiError } from '../api/http';
import { changeDocument, documentSocketUrl, getDocument } from '../api/prompts';
import type { DocumentKind, PromptDocument, PromptType } from '../api/types';
import { adoptDraft, keepDraft, renameDraft } from '../live/drafts';
import { positionAfter } from '../live/diff';
import { newId } from '../live/ids';
import type { Conflict } from '../live/merge';
import { CLOSE, PROTOCOL, type Person, type ServerMessage, type UpdateStatus } from '../live/messages';
import { LiveText, TextBuffer, type Screen, type Submission } from '../live/session';
import { DocumentSocket, type Link } from '../live/socket';
import { Timers } from '../live/timers';
import { texts } from '../texts';
import { notices } from './notices.svelte';
import { settings } from './settings.svelte';

export interface Metadata {
  description: string;
  tags: string[];
  promptType: PromptType | null;
}

export type SaveState = 'loading' | 'saved' | 'saving' | 'waiting' | 'failed';

/** An edit is sent when no key was pressed for `idle`, and at the latest after `longest`. */
const SEND = { idle: 350, longest: 1_500 } as const;
/** Shortest time between two messages about the cursor. */
const PRESENCE_TIME = 150;
/** Longest time until a draft is in the storage of the browser. */
const DRAFT_TIME = 250;
/** Number of failures after which edits are sent over HTTP, and the pause between two readings. */
const HTTP = { failures: 2, pause: 5_000 } as const;
/** Time that a document which was left waits for the answer to its last edit. */
const CLOSE_TIME = 5_000;
/** Pause after the server could not store an edit. */
const STORAGE_PAUSE = 3_000;

export class OpenDocument {
  readonly kind: DocumentKind;
  #id = $state('');
  #link = $state<Link>({ state: 'connecting', since: Date.now() });
  #isOverHttp = $state(false);
  #isLoaded = $state(false);
  #isDirty = $state(false);
  #rev = $state(0);
  #updatedAt = $state('');
  #metadata = $state<Metadata>({ description: '', tags: [], promptType: null });
  #people = $state.raw<Person[]>([]);
  #conflicts = $state.raw<Conflict[]>([]);
  #problem = $state<string | null>(null);
  /** Counts changes of the text, and of included documents. */
  #textVersion = $state(0);
  #dependencyVersion = $state(0);

  #screen: Screen = new TextBuffer();
  readonly #renamed: (from: string, to: string) => void;
  readonly #live: LiveText;
  readonly #socket: DocumentSocket;
  #session = '';
  #hasBegun = false;
  #isBlocked = false;
  #unsentSince = 0;
  #metadataOps = new Set<string>();
  #cursor: { head: number; from: number; to: number } | null = null;
  readonly #timers = new Timers();
  /** Messages are handled one after the other: some wait for a request. */
  #messages: Promise<void> = Promise.resolve();
  #isClosed = false;

  /** `renamed` is called with the old and the new id. */
  constructor(id: string, kind: DocumentKind, renamed: (from: string, to: string) => void) {
    this.#id = id;
    this.kind = kind;
    this.#renamed = renamed;
    const screen: Screen = {
      read: () => this.#screen.read(),
      write: (text) => {
        this.#screen.write(text);
        this.#textVersion += 1;
      },
    };
    this.#live = new LiveText(screen);
    this.#socket = new DocumentSocket(() => documentSocketUrl(this.#id, kind), {
      message: (message) => this.#queue(message),
      link: (link) => this.#linked(link),
    });
    addEventListener('pagehide', this.#keepNow);
    document.addEventListener('visibilitychange', this.#keepNow);
  }

  get id(): string {
    return this.#id;
  }

  get link(): Link {
    return this.#link;
  }

  /** Whether edits are sent over HTTP because the socket fails. */
  get isOverHttp(): boolean {
    return this.#isOverHttp;
  }

  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Whether the server answers. What could not be read is asked for again when it does. */
  get isReachable(): boolean {
    return this.#link.state === 'open' || this.#isOverHttp;
  }

  /** Whether the server says that the document does not exist, or no longer. */
  get isGone(): boolean {
    return this.#link.state === 'ended' && this.#link.code === CLOSE.notFound;
  }

  get rev(): number {
    return this.#rev;
  }

  get updatedAt(): string {
    return this.#updatedAt;
  }

  get metadata(): Metadata {
    return this.#metadata;
  }

  /** The others who have the document open. */
  get people(): readonly Person[] {
    return this.#people;
  }

  /** Texts of others that an edit of this page has replaced. */
  get conflicts(): readonly Conflict[] {
    return this.#conflicts;
  }

  get problem(): string | null {
    return this.#problem;
  }

  get textVersion(): number {
    return this.#textVersion;
  }

  get dependencyVersion(): number {
    return this.#dependencyVersion;
  }

  get saveState(): SaveState {
    if (!this.#isLoaded) return 'loading';
    if (!this.#isDirty) return 'saved';
    if (this.#problem) return 'failed';
    return this.#link.state === 'open' || this.#isOverHttp ? 'saving' : 'waiting';
  }

  /** The text on screen. */
  get text(): string {
    return this.#screen.read();
  }

  /** Shows the text in an editor from now on. */
  attach(screen: Screen): void {
    screen.write(this.#screen.read());
    this.#screen = screen;
  }

  /** Keeps the text after the editor has gone. */
  detach(): void {
    const buffer = new TextBuffer();
    buffer.write(this.#screen.read());
    this.#screen = buffer;
  }

  /** A person has changed the text. */
  edited(): void {
    this.#textVersion += 1;
    this.#isDirty = true;
    this.#isBlocked = false;
    this.#problem = null;
    this.#unsentSince ||= Date.now();
    this.#timers.later('draft', DRAFT_TIME, this.#keepNow);
    const left = this.#unsentSince + SEND.longest - Date.now();
    this.#timers.restart('send', Math.max(0, Math.min(SEND.idle, left)), () => this.#send());
  }

  /** A person has moved the cursor. */
  moved(cursor: { head: number; from: number; to: number }): void {
    this.#cursor = cursor;
    // A position in a text that the others do not have yet follows with the text.
    if (this.#unsentSince > 0) this.#timers.stop('presence');
    else this.#timers.later('presence', PRESENCE_TIME, () => this.#sendPresence());
  }

  /** Saves at once, and says so. */
  save(): void {
    this.#isBlocked = false;
    this.#problem = null;
    if (!this.#isDirty) {
      notices.announce(texts.save.saved(this.#rev));
    } else {
      this.#announceSave = true;
      this.#send();
    }
  }
  #announceSave = false;

  /** Tries to connect at once. */
  retry(): void {
    this.#isBlocked = false;
    this.#socket.retry();
  }

  /** Tells the others the name of this person, after it has changed. */
  introduce(): void {
    this.#sendPresence();
  }

  dismissConflicts(): void {
    this.#conflicts = [];
  }

  async changeMetadata(change: Partial<Metadata>): Promise<void> {
    this.#metadata = { ...this.#metadata, ...change };
    const op = newId();
    const members = {
      ...(change.description !== undefined && { description: change.description }),
      ...(change.tags && { tags: change.tags }),
      ...(change.promptType && { prompt_type: change.promptType }),
      op,
      author: settings.name,
    };
    this.#metadataOps.add(op);
    if (this.#socket.send({ action: 'update_metadata', ...members })) return;
    try {
      const document = await changeDocument(this.#id, members);
      this.#live.reconnected(document.content, document.rev);
      this.#takeFacts(document);
    } catch (error) {
      this.#problem = messageOf(error);
    }
  }

  /** Leaves the document. What was typed in the last moments is still sent and acknowledged. */
  close(): void {
    if (this.#isClosed) return;
    this.#send();
    this.#keepNow();
    this.#isClosed = true;
    this.#timers.stopAll();
    removeEventListener('pagehide', this.#keepNow);
    document.removeEventListener('visibilitychange', this.#keepNow);
    if (this.#live.sent) this.#timers.restart('close', CLOSE_TIME, () => this.#socket.close());
    else this.#socket.close();
  }

  #queue(message: ServerMessage): void {
    const failed = (): void => this.#socket.restart();
    this.#messages = this.#messages.then(() => this.#take(message)).catch(failed);
  }

  async #take(message: ServerMessage): Promise<void> {
    switch (message.action) {
      case 'initial':
        this.#takeMetadata(message);
        this.#updatedAt = message.updated_at;
        await this.#begin(message.content, message.rev ?? 0);
        this.#socket.send({ action: 'hello', protocol: PROTOCOL, client: settings.name });
        this.#sendPresence();
        this.#resend();
        break;
      case 'update':
        this.#live.received(message.content, message.rev ?? this.#live.rev + 1);
        this.#updatedAt = message.timestamp;
        this.#sendLater();
        break;
      case 'patched':
        if (!this.#live.patched(message.ops, message.base_rev, message.rev)) await this.#read();
        this.#updatedAt = message.timestamp ?? this.#updatedAt;
        this.#sendLater();
        break;
      case 'update_metadata':
        this.#takeMetadata(message);
        this.#live.advanced(message.rev ?? 0);
        break;
      case 'update_status':
        this.#answered(message);
        break;
      case 'welcome':
        this.#session = message.session;
        break;
      case 'presence':
        this.#takePeople(message.clients);
        break;
      case 'dependency_changed':
        this.#dependencyVersion += 1;
        break;
      case 'renamed': {
        const from = this.#id;
        renameDraft(from, message.id);
        this.#id = message.id;
        this.#renamed(from, message.id);
        break;
      }
      case 'error':
        this.#problem = message.message;
        break;
    }
    this.#refresh();
  }

  /** Takes the text of the server for the first time, or after a lost connection. */
  async #begin(content: string, rev: number): Promise<void> {
    if (this.#hasBegun) {
      this.#live.reconnected(content, rev);
      return;
    }
    const draft = await adoptDraft(this.#id);
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#live.begin(content, rev, draft);
    this.#isLoaded = true;
  }

  #answered(status: UpdateStatus): void {
    const { op = '', error } = status;
    if (this.#metadataOps.delete(op)) {
      if (status.success) this.#live.advanced(status.rev ?? 0);
      else this.#problem = error?.message ?? texts.save.failed;
      return;
    }
    this.#live.answered(op, status);
    this.#updatedAt = status.timestamp;
    if (status.success) {
      if (status.conflicts?.length) this.#conflicts = status.conflicts;
      if (this.#announceSave) notices.announce(texts.save.saved(status.rev ?? 0));
      this.#announceSave = false;
      this.#problem = null;
      this.#sendLater();
      // The others have the text of this position now.
      if (this.#unsentSince === 0) this.#sendPresence();
    } else {
      this.#refused(error?.code ?? '', error?.message ?? texts.save.failed);
    }
    this.#keepNow();
    if (this.#isClosed) this.#socket.close();
  }

  /** An edit was not stored. Only a full or busy store can change its mind. */
  #refused(code: string, message: string): void {
    this.#problem = message;
    this.#isBlocked = true;
    notices.announce(texts.save.refused(message));
    if (code === 'storage') this.#timers.restart('send', STORAGE_PAUSE, () => this.save());
  }

  /** Sends the next edit, if there is one and none is under way. */
  #send(): void {
    if (!this.#hasBegun || this.#isBlocked || this.#live.sent) return;
    if (this.#link.state !== 'open' && !this.#isOverHttp) return;
    const submission = this.#live.next();
    // After a merge the next edit waits for the merged text.
    if (submission || !this.#live.isDirty) this.#unsentSince = 0;
    if (submission) this.#submit(submission);
    this.#refresh();
  }

  /** Sends soon what was typed while an edit was under way. */
  #sendLater(): void {
    const isWaiting = this.#live.isDirty && !this.#live.sent;
    if (isWaiting && !this.#isClosed) this.#timers.later('send', SEND.idle, () => this.#send());
  }

  /** Repeats the edit that was under way when the connection was lost, or sends the next one. */
  #resend(): void {
    if (this.#live.sent) this.#submit(this.#live.sent);
    else this.#send();
  }

  #submit(submission: Submission): void {
    const { op, baseRev, ops, content } = submission;
    const author = settings.name;
    this.#timers.later('draft', DRAFT_TIME, this.#keepNow);
    if (this.#link.state === 'open') {
      this.#socket.send({ action: 'patch', base_rev: baseRev, op, ops, author });
      this.#sendPresence();
    } else if (this.#isOverHttp) {
      void this.#submitOverHttp({ content, base_rev: baseRev, op, author });
    }
  }

  async #submitOverHttp(change: { content: string; base_rev: number; op: string; author: string }): Promise<void> {
    try {
      const document = await changeDocument(this.#id, change);
      const merged = document.content !== change.content;
      this.#live.answered(change.op, { success: true, rev: document.rev, merged });
      this.#live.received(document.content, document.rev);
      this.#takeFacts(document);
      this.#problem = null;
    } catch (error) {
      const isRefused = error instanceof ApiError && error.status >= 400 && error.status < 500;
      if (!isRefused) return;
      this.#live.answered(change.op, { success: false });
      this.#refused('', error.message);
    }
    this.#keepNow();
    this.#refresh();
  }

  #linked(link: Link): void {
    const wasOpen = this.#link.state === 'open';
    this.#link = link;
    if (link.state === 'open') {
      this.#isOverHttp = false;
      if (this.#hasBegun && !wasOpen) notices.announce(texts.link.back);
    } else {
      this.#people = [];
      if (link.state === 'waiting' && link.failures >= HTTP.failures) void this.#readOverHttp();
      if (link.state === 'ended' && link.code === CLOSE.tooLarge) {
        this.#isBlocked = true;
        this.#problem = texts.save.tooLarge;
      }
    }
  }

  /** Reads the document over HTTP, again and again while the socket fails. */
  async #readOverHttp(): Promise<void> {
    if (this.#isClosed || this.#link.state === 'open') return;
    try {
      await this.#read();
      this.#isOverHttp = this.#stateIsNotOpen();
      if (this.#isOverHttp) this.#resend();
      this.#timers.restart('http', HTTP.pause, () => void this.#readOverHttp());
    } catch (error) {
      this.#isOverHttp = false;
      if (error instanceof ApiError && error.status === 404) {
        this.#socket.close();
        this.#link = { state: 'ended', code: CLOSE.notFound, reason: error.message };
      }
    }
    this.#refresh();
  }

  #stateIsNotOpen(): boolean {
    return this.#link.state !== 'open';
  }

  async #read(): Promise<void> {
    const document = await getDocument(this.#id);
    await this.#begin(document.content, document.rev);
    this.#takeFacts(document);
  }

  #takeFacts(document: PromptDocument): void {
    this.#takeMetadata(document);
    this.#updatedAt = document.updated_at;
    this.#refresh();
  }

  #takeMetadata(from: { description: string | null; tags: string[]; prompt_type?: PromptType | null }): void {
    const { description, tags, prompt_type: promptType = null } = from;
    this.#metadata = { description: description ?? '', tags, promptType };
  }

  /** Takes the positions of others, which are in the server's text. */
  #takePeople(clients: readonly Person[]): void {
    const changes = this.#live.ownChanges;
    const moved = (position: number): number => positionAfter(changes, position);
    const others = clients.filter((person) => person.session !== this.#session);
    this.#people = others.map(({ cursor, selection, ...person }) => ({
      ...person,
      ...(cursor !== undefined && { cursor: moved(cursor) }),
      ...(selection && { selection: { start: moved(selection.start), end: moved(selection.end) } }),
    }));
  }

  #sendPresence(): void {
    const message = { action: 'presence', name: settings.name } as const;
    const cursor = this.#cursor;
    if (!cursor) {
      this.#socket.send(message);
      return;
    }
    const { head, from: start, to: end } = cursor;
    const selection = start === end ? {} : { selection: { start, end } };
    this.#socket.send({ ...message, cursor: head, ...selection, rev: this.#live.rev });
  }

  /** Shows the state of the texts. */
  #refresh(): void {
    this.#rev = this.#live.rev;
    this.#isDirty = this.#hasBegun && this.#live.isDirty;
  }

  readonly #keepNow = (): void => {
    this.#timers.stop('draft');
    if (this.#hasBegun) keepDraft(this.#id, this.#live.draft);
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
