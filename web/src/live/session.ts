// The three texts of live editing: what the server has, what it will have after the one submission
// that is under way, and what is on screen. It knows neither sockets nor the editor, so that tests
// can run thousands of histories through it.

import { changesBetween, type Change } from './diff';
import { newId } from './ids';
import { toDocument, toEditor } from './line_ends';
import { merge } from './merge';
import { applyPatch, patchBetween, type PatchOp } from './patch';

/** The text on screen. `write` keeps cursors where they are in the text. */
export interface Screen {
  read(): string;
  write(text: string): void;
}

/** A text while no editor shows it. */
export class TextBuffer implements Screen {
  #text = '';

  read(): string {
    return this.#text;
  }

  write(text: string): void {
    this.#text = text;
  }
}

/** An edit that was sent, or is about to be. */
export interface Submission {
  /** A text that is unique to this edit: the server applies it once. */
  op: string;
  baseRev: number;
  /** The whole new content, with the line ends of the document. */
  content: string;
  /** The steps from the base to the content. */
  ops: PatchOp[];
}

/** The answer of the server to a submission. */
export interface Answer {
  success: boolean;
  rev?: number;
  merged?: boolean;
}

/** The three texts, as they are kept in the browser until the server has acknowledged all of it. */
export interface Draft {
  /** The document that the texts were made from, and its revision. */
  base: string;
  baseRev: number;
  /** What the server will have after the submission under way. */
  expected: string;
  /** What was on screen. */
  text: string;
  sent: Submission | null;
  /** The revision whose text was still to come. */
  awaited: number;
}

export class LiveText {
  /** The document as the server has it, with its own line ends. */
  #document = '';
  #rev = 0;
  /** The same with the line ends of the editor. */
  #server = '';
  /** What the server will have after the submission under way. */
  #expected = '';
  #sent: Submission | null = null;
  /** The revision whose text is still to come, after a merged submission. */
  #awaited = 0;
  /** A text that may contain the submission under way already: the answer to it tells. */
  #held: { content: string; rev: number } | null = null;
  readonly #screen: Screen;
  readonly #newOp: () => string;

  constructor(screen: Screen, newOp: () => string = newId) {
    this.#screen = screen;
    this.#newOp = newOp;
  }

  get rev(): number {
    return this.#rev;
  }

  /** The submission that the server has not answered yet. */
  get sent(): Submission | null {
    return this.#sent;
  }

  /** Whether the screen has text that the server has not acknowledged. */
  get isDirty(): boolean {
    return this.#sent !== null || this.#screen.read() !== this.#expected;
  }

  /** The changes from the server's text to the one on screen. */
  get ownChanges(): Change[] {
    return changesBetween(this.#server, this.#screen.read());
  }

  /** The text on screen with the line ends of the document. */
  get content(): string {
    return toDocument(this.#document, this.#screen.read());
  }

  /** The three texts. They have to be kept while the text is dirty. */
  get draft(): Draft {
    return {
      base: this.#document,
      baseRev: this.#rev,
      expected: this.#expected,
      text: this.#screen.read(),
      sent: this.#sent,
      awaited: this.#awaited,
    };
  }

  /** Begins with a document, and with the texts that an earlier page has not saved. */
  begin(content: string, rev: number, draft: Draft | null): void {
    this.#held = null;
    if (draft) {
      this.#document = draft.base;
      this.#server = toEditor(draft.base);
      this.#rev = draft.baseRev;
      this.#sent = draft.sent;
      this.#awaited = draft.awaited;
      this.#expected = draft.expected;
      this.#screen.write(draft.text);
      this.reconnected(content, rev);
    } else {
      this.#document = content;
      this.#server = toEditor(content);
      this.#expected = this.#server;
      this.#rev = rev;
      this.#sent = null;
      this.#awaited = 0;
      this.#screen.write(this.#server);
    }
  }

  /** Takes the server's current text: after a change of others, a merge, or a new connection. */
  received(content: string, rev: number): void {
    if (this.#held) {
      if (rev >= this.#held.rev) this.#held = { content, rev };
      return;
    }
    if (rev < this.#rev) return;
    const server = toEditor(content);
    const isAwaited = this.#awaited > 0 && rev >= this.#awaited;
    const expected =
      isAwaited || (!this.#sent && !this.#awaited)
        ? server
        : merge(this.#server, server, this.#expected).text;
    if (isAwaited) this.#awaited = 0;
    this.#document = content;
    this.#server = server;
    this.#rev = rev;
    this.#expect(expected);
  }

  /** Takes a change of others; `false` if it does not fit, and the text has to be asked for. */
  patched(ops: readonly PatchOp[], baseRev: number, rev: number): boolean {
    const current = this.#held ?? { content: this.#document, rev: this.#rev };
    if (rev <= current.rev) return true;
    const content = baseRev === current.rev ? applyPatch(current.content, ops) : null;
    if (content === null) return false;
    this.received(content, rev);
    return true;
  }

  /** Takes a revision that has the same content, such as one of new metadata. */
  advanced(rev: number): void {
    if (this.#held) this.#held.rev = Math.max(this.#held.rev, rev);
    else if (rev > this.#rev && !this.#awaited) this.#rev = rev;
  }

  /**
   * Takes the server's text after a lost connection, or when it was asked for. It may contain the
   * submission under way, which has to be sent again: until it is answered, the text is held back,
   * because a merge would have the submission twice.
   *
   * A server with an older revision has another history: it does not know the submission, which
   * becomes an unsent edit.
   */
  reconnected(content: string, rev: number): void {
    if (rev < this.#rev) {
      this.#sent = null;
      this.#awaited = 0;
      this.#held = null;
      this.#expected = this.#server;
      this.#rev = rev;
    }
    if (this.#sent) this.#held = { content, rev };
    else this.received(content, rev);
  }

  /** The next edit to send; `null` if there is none, or one is under way. */
  next(): Submission | null {
    if (this.#sent || this.#awaited) return null;
    const text = this.#screen.read();
    if (text === this.#server) return null;
    const content = toDocument(this.#document, text);
    const ops = patchBetween(this.#document, content);
    this.#sent = { op: this.#newOp(), baseRev: this.#rev, content, ops };
    this.#expected = text;
    return this.#sent;
  }

  /** Takes the answer to the submission under way. */
  answered(op: string, answer: Answer): void {
    const sent = this.#sent;
    if (!sent || sent.op !== op) return;
    const rev = answer.rev ?? 0;
    const held = this.#held;
    this.#held = null;
    if (held && answer.success && rev <= held.rev) {
      this.#sent = null;
      this.#awaited = 0;
      this.received(held.content, held.rev);
      return;
    }
    if (held) this.received(held.content, held.rev);
    this.#sent = null;
    if (!answer.success) {
      // The server has not taken it: on screen it is an edit that was not sent.
      this.#expected = this.#server;
    } else if (rev <= this.#rev) {
      // A repeated answer to an edit that the current text contains already.
      this.#expect(this.#server);
    } else if (answer.merged) {
      // The stored text differs from the one that was sent, and follows.
      this.#awaited = rev;
    } else {
      this.#document = sent.content;
      this.#server = toEditor(sent.content);
      this.#rev = rev;
      this.#expect(this.#server);
    }
  }

  /** Moves the screen from the expected text to another one, with what was typed since. */
  #expect(expected: string): void {
    const screen = this.#screen.read();
    const text = merge(this.#expected, expected, screen).text;
    this.#expected = expected;
    if (text !== screen) this.#screen.write(text);
  }
}
