// The editor of a document. It is a chunk of its own, loaded when the first document is opened.

import { closeBrackets, closeBracketsKeymap, closeCompletion, completionKeymap, completionStatus } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { bracketMatching } from '@codemirror/language';
import { highlightSelectionMatches, search, searchKeymap, searchPanelOpen } from '@codemirror/search';
import { Annotation, EditorState, Transaction, type Extension, type Text } from '@codemirror/state';
import {
  drawSelection,
  dropCursor,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  placeholder,
} from '@codemirror/view';

import { changesBetween } from '../live/diff';
import type { Person } from '../live/messages';
import type { Screen } from '../live/session';
import { inclusions, type InclusionOptions } from './inclusions';
import { promptLanguage } from './language';
import { people, showPeople } from './people';
import { editorTheme } from './theme';

export interface EditorOptions extends InclusionOptions {
  label: string;
  placeholder: string;
  edited(): void;
  moved(cursor: { head: number; from: number; to: number }): void;
  save(): void;
  /** A person wants to leave the editor by a key. */
  leave(): void;
}

/** A change that came from the server, not from the person. */
const isRemote = Annotation.define<boolean>();

export class PromptEditor implements Screen {
  readonly #view: EditorView;
  #cache: { doc: Text; text: string } | null = null;

  constructor(host: HTMLElement, options: EditorOptions) {
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
    this.#view = new EditorView({
      parent: root,
      root,
      state: EditorState.create({ extensions: extensions(options) }),
    });
  }

  read(): string {
    const { doc } = this.#view.state;
    if (this.#cache?.doc !== doc) {
      // Half of a character, from a broken paste, cannot be sent.
      this.#cache = { doc, text: doc.toString().toWellFormed() };
    }
    return this.#cache.text;
  }

  write(text: string): void {
    const changes = changesBetween(this.#view.state.doc.toString(), text);
    this.#view.dispatch({
      changes,
      annotations: [isRemote.of(true), Transaction.addToHistory.of(false)],
    });
  }

  /** Shows the cursors of others. */
  show(list: readonly Person[]): void {
    this.#view.dispatch({ effects: showPeople(list) });
  }

  focus(): void {
    this.#view.focus();
  }

  destroy(): void {
    this.#view.destroy();
  }
}

function extensions(options: EditorOptions): Extension {
  return [
    lineNumbers(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    highlightSpecialChars(),
    highlightSelectionMatches({ minSelectionLength: 3 }),
    history(),
    drawSelection(),
    dropCursor(),
    bracketMatching(),
    closeBrackets(),
    search({ top: true }),
    EditorView.lineWrapping,
    placeholder(options.placeholder),
    promptLanguage(),
    people(),
    inclusions(options),
    keys(options),
    editorTheme(),
    EditorView.contentAttributes.of({ 'aria-label': options.label, spellcheck: 'false', tabindex: '0' }),
    EditorView.updateListener.of((update) => {
      const isOwn = update.transactions.some(
        (transaction) => transaction.docChanged && !transaction.annotation(isRemote),
      );
      if (isOwn) options.edited();
      // A change by others moves the cursor too.
      const { main } = update.state.selection;
      if (isOwn || update.selectionSet || !main.eq(update.startState.selection.main)) {
        const { head, from, to } = main;
        options.moved({ head, from, to });
      }
    }),
  ];
}

function keys(options: EditorOptions): Extension {
  return keymap.of([
    {
      key: 'Mod-s',
      preventDefault: true,
      run: () => {
        options.save();
        return true;
      },
    },
    ...closeBracketsKeymap,
    ...completionKeymap,
    ...searchKeymap,
    ...historyKeymap,
    {
      key: 'Escape',
      run: (view) => {
        if (completionStatus(view.state)) return closeCompletion(view);
        if (searchPanelOpen(view.state)) return false;
        options.leave();
        return true;
      },
    },
    ...defaultKeymap,
  ]);
}
