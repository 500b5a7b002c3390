// Description, tags and type of a document, with the changes that the server has not answered yet. It
// knows neither sockets nor the page, as `session.ts` does for the text.

import type { PromptType } from '../api/types';
import { newId } from './ids';

export interface Metadata {
  description: string;
  tags: string[];
  promptType: PromptType | null;
}

/** A change that the server has not answered, or has refused. */
export interface MetadataChange {
  /** A text that is unique to this change: the server applies it once. */
  op: string;
  members: Partial<Metadata>;
  /** Why the server has refused it; `null` while there is no answer. */
  refusal: string | null;
}

export class LiveMetadata {
  #server: Metadata = { description: '', tags: [], promptType: null };
  /** The revision whose metadata are those of the server. */
  #rev = 0;
  /** In the order in which they were made. */
  #changes: MetadataChange[] = [];
  readonly #newOp: () => string;

  constructor(newOp: () => string = newId) {
    this.#newOp = newOp;
  }

  /** The metadata on screen: those of the server with all changes. */
  get shown(): Metadata {
    return this.#changes.reduce((metadata, { members }) => ({ ...metadata, ...members }), this.#server);
  }

  /** All changes that are not stored, in their order. They have to outlive the page. */
  get changes(): readonly MetadataChange[] {
    return this.#changes;
  }

  /** The changes that have to be sent, in their order. The same `op` may be sent again. */
  get unanswered(): readonly MetadataChange[] {
    return this.#changes.filter((change) => change.refusal === null);
  }

  /** Why the server has refused a change; `null` if it has refused none. */
  get refusal(): string | null {
    return this.#changes.find((change) => change.refusal !== null)?.refusal ?? null;
  }

  /** Begins with the metadata of the server, and with changes that an earlier page has not stored. */
  begin(server: Metadata, rev: number, changes: readonly MetadataChange[]): void {
    this.#changes = [...changes];
    this.reconnected(server, rev);
  }

  /** Takes the metadata of the server after a lost connection. Its revision may be an older one. */
  reconnected(server: Metadata, rev: number): void {
    this.#server = server;
    this.#rev = rev;
  }

  /** Takes the metadata of a revision, unless those of a newer one are known. */
  received(server: Metadata, rev: number): void {
    if (rev >= this.#rev) this.reconnected(server, rev);
  }

  /** A person has changed these members. A refused change of the same members is replaced. */
  change(members: Partial<Metadata>): void {
    const others = this.#changes.map((change) =>
      change.refusal === null ? change : { ...change, members: without(change.members, members) },
    );
    this.#changes = others.filter((change) => Object.keys(change.members).length > 0);
    this.#changes.push({ op: this.#newOp(), members, refusal: null });
  }

  /** Takes the answer to a change; `false` if no change that waits for an answer has this `op`. */
  answered(op: string, answer: { success: boolean; rev?: number; refusal?: string }): boolean {
    const change = this.#changes.find((waiting) => waiting.op === op && waiting.refusal === null);
    if (!change) return false;
    if (!answer.success) {
      this.#changes = this.#changes.map((other) =>
        other === change ? { ...change, refusal: answer.refusal ?? '' } : other,
      );
      return true;
    }
    this.#changes = this.#changes.filter((other) => other !== change);
    // The metadata of a later revision contain the change, or the value that somebody else has set since.
    if (answer.rev === undefined || answer.rev > this.#rev) {
      this.#server = { ...this.#server, ...change.members };
      this.#rev = answer.rev ?? this.#rev;
    }
    return true;
  }

  /** Lets refused changes be sent again. The answer to their old `op` would be the same. */
  retry(): void {
    this.#changes = this.#changes.map((change) =>
      change.refusal === null ? change : { ...change, op: this.#newOp(), refusal: null },
    );
  }

  /** Drops refused changes. */
  discardRefused(): void {
    this.#changes = this.#changes.filter((change) => change.refusal === null);
  }
}

function without(members: Partial<Metadata>, replaced: Partial<Metadata>): Partial<Metadata> {
  const kept = Object.entries(members).filter(([name]) => !(name in replaced));
  return Object.fromEntries(kept) as Partial<Metadata>;
}
