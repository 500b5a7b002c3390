// One open document: its text, its metadata and the people in it, kept equal with the server. Edits
// go over the socket; while that fails, over HTTP; while that fails too, they wait in the browser.

import { ApiError } from '../api/http';
import { changeDocument, documentSocketUrl, getDocument } from '../api/prompts';
import type { DocumentKind, PromptDocument, PromptType } from '../api/types';
import { positionAfter } from '../live/diff';
import { adoptDraft, hasDraft, keepDraft, leftoversOf, type Leftover } from '../live/drafts';
import type { Conflict } from '../live/merge';
import { CLOSE, PROTOCOL, type Person, type ServerMessage, type UpdateStatus } from '../live/messages';
import { LiveMetadata, type Metadata, type MetadataChange } from '../live/metadata';
import { isSameDocument, ownerOf, type Owner } from '../live/owner';
import { LiveText, TextBuffer, type Screen, type Submission } from '../live/session';
import { DocumentSocket, type Link } from '../live/socket';
import { Timers } from '../live/timers';
import { texts } from '../texts';
import { library } from './library.svelte';
import { notices } from './notices.svelte';
import { settings } from './settings.svelte';

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
  #metadata = $state.raw<Metadata>({ description: '', tags: [], promptType: null });
  #hasUnsavedMetadata = $state(false);
  #metadataProblem = $state<string | null>(null);
  #leftovers = $state.raw<readonly Leftover[]>([]);
  #people = $state.raw<Person[]>([]);
  #conflicts = $state.raw<Conflict[]>([]);
  #problem = $state<string | null>(null);
  /** Counts changes of the text, and of included documents. */
  #textVersion = $state(0);
  #dependencyVersion = $state(0);

  #screen: Screen = new TextBuffer();
  readonly #renamed: (from: string, to: string) => void;
  readonly #live: LiveText;
  readonly #liveMetadata = new LiveMetadata();
  readonly #socket: DocumentSocket;
  /** The document that the server has, whatever its id; `null` before the first message. */
  #owner: Owner | null = null;
  #session = '';
  #hasBegun = false;
  #isBlocked = false;
  #unsentSince = 0;
  /** Changes of metadata that were sent over this connection and are not answered. */
  readonly #sentMetadata = new Set<string>();
  #isSendingOverHttp = false;
  /** Counts lost connections. */
  #losses = 0;
  /** Whether the first message of this connection was taken. Before it, nothing is sent. */
  #isCurrent = false;
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

  /** Description, tags and type with the changes of this page, also those that are not saved. */
  get metadata(): Metadata {
    return this.#metadata;
  }

  /** Why a change of description, tags or type was refused. */
  get metadataProblem(): string | null {
    return this.#metadataProblem;
  }

  /** Drafts that may belong to this document and are not sent by themselves. */
  get leftovers(): readonly Leftover[] {
    return this.#leftovers;
  }

  /** Whether all that was typed is saved. */
  get isSaved(): boolean {
    return !this.#isDirty && !this.#hasUnsavedMetadata;
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
    if (this.isSaved) return 'saved';
    if (this.#problem !== null || this.#metadataProblem !== null) return 'failed';
    return this.isReachable ? 'saving' : 'waiting';
  }

  /** The text on screen. */
  get text(): string {
    return this.#screen.read();
  }

  /** The text on screen with the line ends of the document. */
  get content(): string {
    return this.#live.content;
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

  /** Saves at once, and says so. Changes that were refused are sent again. */
  save(): void {
    this.#isBlocked = false;
    this.#problem = null;
    this.#liveMetadata.retry();
    this.#refresh();
    this.#announceSave = true;
    this.#sendMetadata();
    this.#send();
    this.#announceIfSaved();
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

  /** Changes description, tags or type. The change is kept until the server has stored it. */
  changeMetadata(members: Partial<Metadata>): void {
    this.#liveMetadata.change(members);
    this.#refresh();
    this.#keep();
    this.#sendMetadata();
  }

  /** Drops the changes of description, tags and type that were refused. */
  discardMetadata(): void {
    this.#liveMetadata.discardRefused();
    this.#refresh();
    this.#keepNow();
  }

  /** Reads again which drafts may belong to this document. */
  async findLeftovers(): Promise<void> {
    const owner = this.#owner;
    if (!owner) return;
    const found = await leftoversOf(owner, (other) => library.documentOf(other)?.id === owner.id);
    if (this.#owner && isSameDocument(this.#owner, owner)) this.#leftovers = found;
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
    if (this.#isAwaited()) this.#timers.restart('close', CLOSE_TIME, () => this.#socket.close());
    else this.#socket.close();
  }

  /** Whether the answer to a change is still to come. */
  #isAwaited(): boolean {
    return this.#live.sent !== null || this.#sentMetadata.size > 0;
  }

  #queue(message: ServerMessage): void {
    const failed = (): void => this.#socket.restart();
    const losses = this.#losses;
    this.#messages = this.#messages.then(() => this.#take(message, losses)).catch(failed);
  }

  /** Takes a message of the connection that was open after this number of losses. */
  async #take(message: ServerMessage, losses: number): Promise<void> {
    switch (message.action) {
      case 'initial':
        await this.#begin(message.content, message.rev ?? 0, metadataOf(message));
        this.#isCurrent = losses === this.#losses;
        this.#updatedAt = message.updated_at;
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
        this.#liveMetadata.received(metadataOf(message), message.rev ?? 0);
        this.#advanced(message.rev ?? 0);
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
      case 'renamed':
        this.#takeId(message.id);
        break;
      case 'error':
        this.#failed(message.message, message.op ?? '');
        break;
    }
    this.#refresh();
  }

  #takeId(id: string): void {
    const from = this.#id;
    if (this.#owner) {
      keepDraft(this.#owner, null);
      this.#owner = { ...this.#owner, id };
    }
    this.#id = id;
    this.#keepNow();
    this.#renamed(from, id);
  }

  /** Takes the text and the metadata of the server for the first time, or after a lost connection. */
  async #begin(content: string, rev: number, metadata: Metadata, known?: PromptDocument): Promise<void> {
    const owner = await this.#findOwner(known);
    const isOther = this.#owner !== null && owner !== null && !isSameDocument(this.#owner, owner);
    if (this.#hasBegun && !isOther) {
      this.#owner ??= owner;
      this.#live.reconnected(content, rev);
      this.#liveMetadata.reconnected(metadata, rev);
      return;
    }
    const unsaved = owner && (await adoptDraft(owner));
    if (this.#hasBegun && !isOther) return;
    // The server has another project now, or another document with this id. It gets none of the edits of
    // the earlier one, which are shown beside it.
    if (isOther) this.#keepNow();
    this.#problem = null;
    this.#conflicts = [];
    this.#isBlocked = false;
    this.#unsentSince = 0;
    this.#hasBegun = true;
    this.#owner = owner;
    this.#live.begin(content, rev, unsaved?.draft ?? null);
    this.#liveMetadata.begin(metadata, rev, unsaved?.changes ?? []);
    this.#sentMetadata.clear();
    this.#isLoaded = true;
    void this.findLeftovers();
  }

  /**
   * Finds out which document the server means by the id. If there may be changes to send, the document
   * is read for that; else the list is enough. If the server cannot answer now although it has just sent
   * the document, it is taken for the same one as before.
   */
  async #findOwner(known: PromptDocument | undefined): Promise<Owner | null> {
    const listed = library.find(this.#id);
    const isCertain = !this.#hasBegun && !hasDraft(this.#id);
    try {
      return ownerOf(known ?? (isCertain && listed ? listed : await getDocument(this.#id)));
    } catch (error) {
      if (!(error instanceof ApiError) || error.status < 500) throw error;
      return this.#owner ?? (listed ? ownerOf(listed) : null);
    }
  }

  #answered(status: UpdateStatus): void {
    const { op = '', error } = status;
    const refusal = error?.message ?? texts.save.failed;
    const { success } = status;
    if (this.#liveMetadata.answered(op, { ...status, refusal })) {
      this.#sentMetadata.delete(op);
      if (success) this.#advanced(status.rev ?? 0);
      else this.#refusedMetadata(error?.code ?? '', refusal);
    } else if (this.#live.sent?.op === op) {
      this.#live.answered(op, status);
      if (success) {
        if (status.conflicts?.length) this.#conflicts = status.conflicts;
        this.#problem = null;
        this.#sendLater();
        // The others have the text of this position now.
        if (this.#unsentSince === 0) this.#sendPresence();
      } else {
        this.#refused(error?.code ?? '', refusal);
      }
    } else {
      // The answer to a change that was sent twice.
      return;
    }
    this.#updatedAt = status.timestamp;
    this.#refresh();
    this.#announceIfSaved(status.rev);
    this.#keepNow();
    if (this.#isClosed && !this.#isAwaited()) this.#socket.close();
  }

  /** A message of this page could not be read or fulfilled. */
  #failed(message: string, op: string): void {
    if (this.#liveMetadata.answered(op, { success: false, refusal: message })) {
      this.#sentMetadata.delete(op);
      this.#refusedMetadata('', message);
    } else if (this.#live.sent?.op === op) {
      this.#live.answered(op, { success: false });
      this.#refused('', message);
    } else {
      this.#problem = message;
    }
    this.#keepNow();
  }

  /** Takes a revision of new metadata. Those of a Dotprompt file are in its text, which follows. */
  #advanced(rev: number): void {
    if (!this.#owner?.isDotprompt) this.#live.advanced(rev);
  }

  #announceIfSaved(rev = this.#rev): void {
    if (!this.#announceSave || !this.isSaved) return;
    this.#announceSave = false;
    notices.announce(texts.save.saved(rev));
  }

  /** An edit was not stored. It is sent again by itself only if the store was full or busy. */
  #refused(code: string, message: string): void {
    this.#problem = message;
    this.#isBlocked = true;
    notices.announce(texts.save.refused(message));
    if (code === 'storage') this.#saveAfterPause('send');
  }

  /** A change of metadata was not stored. It stays on screen with its error. */
  #refusedMetadata(code: string, message: string): void {
    notices.announce(texts.save.refused(message));
    if (code === 'storage') this.#saveAfterPause('metadata');
  }

  #saveAfterPause(timer: string): void {
    if (!this.#isClosed) this.#timers.restart(timer, STORAGE_PAUSE, () => this.save());
  }

  /** Sends the next edit, if there is one and none is under way. */
  #send(): void {
    if (!this.#hasBegun || this.#isBlocked || this.#live.sent) return;
    if (!this.#isCurrent && !this.#isOverHttp) return;
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

  /** Repeats the changes that were under way when the connection was lost, or sends the next ones. */
  #resend(): void {
    this.#sendMetadata();
    if (this.#live.sent) this.#submit(this.#live.sent);
    else this.#send();
  }

  /** Sends the changes of metadata that were not sent over this connection. */
  #sendMetadata(): void {
    if (!this.#hasBegun) return;
    const waiting = this.#liveMetadata.unanswered.filter(({ op }) => !this.#sentMetadata.has(op));
    for (const { op, members } of this.#isCurrent ? waiting : []) {
      const message = { action: 'update_metadata', ...membersOf(members), op, author: settings.name } as const;
      if (this.#socket.send(message)) this.#sentMetadata.add(op);
    }
    // A document that was left has no connection any more.
    const isLeft = this.#isClosed && !this.#isAwaited();
    if (waiting.length > 0 && (this.#isOverHttp || isLeft)) void this.#sendMetadataOverHttp();
  }

  /** Sends the changes of metadata one after the other, until one is not answered. */
  async #sendMetadataOverHttp(): Promise<void> {
    if (this.#isSendingOverHttp) return;
    this.#isSendingOverHttp = true;
    for (let change = this.#liveMetadata.unanswered[0]; change; change = this.#liveMetadata.unanswered[0]) {
      const isAnswered = await this.#submitMetadataOverHttp(change);
      this.#refresh();
      this.#keepNow();
      if (!isAnswered) break;
    }
    this.#isSendingOverHttp = false;
    this.#announceIfSaved();
  }

  async #submitMetadataOverHttp({ op, members }: MetadataChange): Promise<boolean> {
    try {
      const document = await changeDocument(this.#id, { ...membersOf(members), op, author: settings.name });
      this.#liveMetadata.answered(op, { success: true, rev: document.rev });
      this.#live.reconnected(document.content, document.rev);
      this.#takeFacts(document);
      return true;
    } catch (error) {
      if (!isRefusal(error)) return false;
      this.#liveMetadata.answered(op, { success: false, refusal: error.message });
      this.#refusedMetadata('', error.message);
      return true;
    }
  }

  #submit(submission: Submission): void {
    const { op, baseRev, ops, content } = submission;
    const author = settings.name;
    this.#timers.later('draft', DRAFT_TIME, this.#keepNow);
    if (this.#isCurrent) {
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
      if (!isRefusal(error)) return;
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
      if (link.state === 'ended' && link.code === CLOSE.tooLarge) this.#tooLarge();
      this.#losses += 1;
      this.#isCurrent = false;
      this.#sentMetadata.clear();
      this.#refresh();
      this.#keep();
    }
  }

  /** A message was larger than the server accepts. */
  #tooLarge(): void {
    const isText = this.#live.sent !== null || this.#sentMetadata.size === 0;
    if (isText) {
      this.#isBlocked = true;
      this.#problem = texts.save.tooLarge;
    }
    for (const op of this.#sentMetadata) {
      if (!isText) this.#liveMetadata.answered(op, { success: false, refusal: texts.save.tooLarge });
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
        this.#linked({ state: 'ended', code: CLOSE.notFound, reason: error.message });
      }
    }
    this.#refresh();
  }

  #stateIsNotOpen(): boolean {
    return this.#link.state !== 'open';
  }

  async #read(): Promise<void> {
    const document = await getDocument(this.#id);
    await this.#begin(document.content, document.rev, metadataOf(document), document);
    this.#takeFacts(document);
  }

  #takeFacts(document: PromptDocument): void {
    this.#liveMetadata.received(metadataOf(document), document.rev);
    this.#updatedAt = document.updated_at;
    this.#refresh();
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

  /** Shows the state of the text and of the metadata. */
  #refresh(): void {
    this.#rev = this.#live.rev;
    this.#isDirty = this.#hasBegun && this.#live.isDirty;
    this.#metadata = this.#liveMetadata.shown;
    this.#metadataProblem = this.#liveMetadata.refusal;
    this.#hasUnsavedMetadata = this.#liveMetadata.changes.length > 0;
  }

  /** Keeps the draft. That of a document that is gone was kept, and may have got another one since. */
  readonly #keepNow = (): void => {
    this.#timers.stop('draft');
    if (!this.isGone) this.#keep();
  };

  #keep(): void {
    if (!this.#hasBegun || !this.#owner) return;
    const { shown: metadata, changes } = this.#liveMetadata;
    const isSaved = !this.#live.isDirty && changes.length === 0;
    // The path of the file changes with a rename.
    const listed = library.find(this.#id);
    if (listed && isSameDocument(ownerOf(listed), this.#owner)) this.#owner = ownerOf(listed);
    keepDraft(this.#owner, isSaved ? null : { draft: this.#live.draft, metadata, changes });
  }
}

function metadataOf(from: { description: string | null; tags: string[]; prompt_type?: PromptType | null }): Metadata {
  return { description: from.description ?? '', tags: from.tags, promptType: from.prompt_type ?? null };
}

/** Members of metadata by the names of the protocol. */
function membersOf({ description, tags, promptType }: Partial<Metadata>) {
  return {
    ...(description !== undefined && { description }),
    ...(tags && { tags }),
    ...(promptType && { prompt_type: promptType }),
  };
}

/** Whether the server has answered that it does not take a change. */
function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status >= 400 && error.status < 500;
}
