// The document that is open, and the dialog that is shown. One document is open at a time.

import { deleteDocument, undeleteDocument } from '../api/prompts';
import type { DocumentKind, PromptDocument } from '../api/types';
import { giveDraft } from '../live/drafts';
import { ownerOf } from '../live/owner';
import type { Template } from '../prompts/new_document';
import { texts } from '../texts';
import { OpenDocument } from './document.svelte';
import { library } from './library.svelte';
import { notices } from './notices.svelte';
import { route } from './route.svelte';
import { settings } from './settings.svelte';

export type Dialog =
  | { name: 'create'; id?: string; kind?: DocumentKind }
  /** `made` is called after the document was made. */
  | { name: 'create'; template: Template; made?: () => void }
  | { name: 'rename' }
  | { name: 'remove' };

class Workspace {
  #document = $state.raw<OpenDocument | null>(null);
  #dialog = $state.raw<Dialog | null>(null);
  /** Counts requests to put the cursor into the text. */
  #focus = $state(0);

  get document(): OpenDocument | null {
    return this.#document;
  }

  get dialog(): Dialog | null {
    return this.#dialog;
  }

  get focusRequests(): number {
    return this.#focus;
  }

  /** Opens a document, or none. A document that is open stays as it is. */
  show(id: string | null, kind: DocumentKind | undefined): void {
    if (id !== null && this.#document?.id === id) return;
    this.#document?.close();
    this.#document = null;
    if (id === null || !kind) return;
    this.#document = new OpenDocument(id, kind, (from, to) => {
      if (route.id === from) route.move({ id: to });
    });
  }

  /** Opens the document again, after it was deleted and brought back. */
  reopen(id: string, kind: DocumentKind): void {
    this.#document?.close();
    this.#document = null;
    this.show(id, kind);
  }

  ask(dialog: Dialog): void {
    this.#dialog = dialog;
  }

  closeDialog(): void {
    this.#dialog = null;
  }

  /** Puts the cursor into the text. */
  focusText(): void {
    this.#focus += 1;
  }

  /** Deletes a document and offers to bring it back. Shows the next one in the list. */
  async remove(id: string): Promise<void> {
    const ids = library.documents.map((document) => document.id);
    const at = ids.indexOf(id);
    await deleteDocument(id);
    library.remove(id);
    if (route.id === id) route.open(ids[at + 1] ?? ids[at - 1] ?? null);
    notices.show(texts.document.deletedToast(id), {
      label: texts.document.undo,
      run: () => void this.undelete(id),
    });
  }

  /**
   * Opens a document with a draft that was kept for its earlier id, or in a tab that was closed. If the
   * document has a draft in this tab, the other one stays where it is.
   */
  openWithDraft(document: PromptDocument, draft: string): void {
    // A document that is closed keeps its own draft, or removes it.
    this.show(null, undefined);
    giveDraft(draft, ownerOf(document));
    route.open(document.id);
    this.show(document.id, document.kind);
  }

  /** Brings a deleted document back and opens it. */
  async undelete(id: string): Promise<void> {
    // Somebody else may have brought it back.
    const known = library.find(id);
    if (known) {
      this.reopen(id, known.kind);
      return;
    }
    try {
      const document = await undeleteDocument(id, settings.name);
      library.put(document);
      notices.show(texts.document.undeleted(document.id));
      if (route.id !== document.id) route.open(document.id);
      this.reopen(document.id, document.kind);
    } catch (error) {
      notices.fail(error);
    }
  }
}

export const workspace = new Workspace();
