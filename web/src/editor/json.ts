// The JSON editor. It is a chunk of its own, loaded when the first one is shown.

import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionKeymap,
  completionStatus,
  pickedCompletion,
  startCompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { bracketMatching, HighlightStyle, indentUnit, StreamLanguage, syntaxHighlighting, type StringStream } from '@codemirror/language';
import { search, searchKeymap, searchPanelOpen } from '@codemirror/search';
import { Annotation, EditorState, StateField, type Extension } from '@codemirror/state';
import {
  Decoration,
  drawSelection,
  EditorView,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  placeholder,
  type DecorationSet,
} from '@codemirror/view';
import { Tag } from '@lezer/highlight';

import { parseJson } from '../form/json_text';
import { placeAt, suggestionsAt, type Suggestion } from '../form/json_place';
import { changesBetween } from '../live/diff';
import { editorTheme } from './theme';

export interface JsonEditorOptions {
  label: string;
  placeholder: string;
  schema(): unknown;
  edited(text: string): void;
  submit(): void;
  /** Esc outside of a list of completions. */
  leave(): void;
}

/** A change by the page, not by the person. */
const isOwn = Annotation.define<boolean>();

export class JsonTextEditor {
  readonly #view: EditorView;

  constructor(host: HTMLElement, text: string, options: JsonEditorOptions) {
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
    this.#view = new EditorView({
      parent: root,
      root,
      state: EditorState.create({ doc: text, extensions: extensions(options) }),
    });
  }

  get text(): string {
    return this.#view.state.doc.toString();
  }

  /** Replaces the text. Only what differs is changed, so that the cursor stays where it was. */
  write(text: string): void {
    const before = this.text;
    if (text === before) return;
    this.#view.dispatch({ changes: changesBetween(before, text), annotations: isOwn.of(true) });
  }

  focus(): void {
    this.#view.focus();
  }

  destroy(): void {
    this.#view.destroy();
  }
}

function extensions(options: JsonEditorOptions): Extension {
  return [
    lineNumbers(),
    highlightSpecialChars(),
    history(),
    drawSelection(),
    bracketMatching(),
    closeBrackets(),
    indentUnit.of('  '),
    search({ top: true }),
    EditorView.lineWrapping,
    placeholder(options.placeholder),
    language(),
    mistake,
    autocompletion({ override: [(context) => complete(context, options)], icons: false, activateOnTypingDelay: 30 }),
    keys(options),
    look,
    editorTheme(),
    EditorView.contentAttributes.of({ 'aria-label': options.label, spellcheck: 'false', tabindex: '0' }),
    EditorView.updateListener.of((update) => {
      if (!update.docChanged || update.transactions.some((transaction) => transaction.annotation(isOwn))) return;
      options.edited(update.state.doc.toString());
    }),
  ];
}

function keys(options: JsonEditorOptions): Extension {
  return keymap.of([
    // The page knows these keys. Ctrl Enter would add a line otherwise.
    {
      key: 'Mod-Enter',
      run: () => {
        options.submit();
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

function complete(context: CompletionContext, options: JsonEditorOptions): CompletionResult | null {
  const schema = options.schema();
  if (schema === undefined) return null;
  const place = placeAt(context.state.doc.toString(), context.pos);
  if (!place || (place.from === context.pos && !context.explicit)) return null;
  const found = suggestionsAt(place, schema);
  if (found.length === 0) return null;
  return {
    from: place.from,
    filter: false,
    options: filtered(found, context.state.sliceDoc(place.from, context.pos)).map((one) => completion(one, place.expects === 'name')),
  };
}

/** The words before the cursor begin with a quote, which CodeMirror's own filter does not expect. */
function filtered(found: readonly Suggestion[], typed: string): Suggestion[] {
  const word = typed.replace(/^"/, '').toLowerCase();
  const starts = found.filter(({ label }) => label.toLowerCase().startsWith(word));
  const others = found.filter(({ label }) => !label.toLowerCase().startsWith(word) && label.toLowerCase().includes(word));
  return [...starts, ...others];
}

function completion(one: Suggestion, isName: boolean): Completion {
  return {
    label: one.label,
    detail: one.about,
    apply: (view, picked, from, to) => {
      // The quote that the editor has added behind the cursor is replaced.
      const next = view.state.sliceDoc(to, to + 1);
      const end = next === '"' ? to + 1 : to;
      const isFollowed = /^\s*:/.test(view.state.sliceDoc(end, end + 20));
      const insert = isName && !isFollowed ? `${one.insert}: ` : one.insert;
      const inside = /^[{[]/.test(insert) ? 1 : insert.length;
      view.dispatch({
        changes: { from, to: end, insert },
        selection: { anchor: from + inside },
        userEvent: 'input.complete',
        annotations: pickedCompletion.of(picked),
      });
      if (isName) startCompletion(view);
    },
  };
}

const wrong = Decoration.mark({ class: 'cm-wrong' });

/** Marks the first error of the syntax. */
const mistake = StateField.define<DecorationSet>({
  create: (state) => marks(state),
  update: (old, transaction) => (transaction.docChanged ? marks(transaction.state) : old),
  provide: (field) => EditorView.decorations.from(field),
});

function marks(state: EditorState): DecorationSet {
  const text = state.doc.toString();
  if (text.trim() === '') return Decoration.none;
  const parsed = parseJson(text);
  if (parsed.ok) return Decoration.none;
  const from = Math.min(parsed.at, Math.max(0, text.length - 1));
  return Decoration.set([wrong.range(from, Math.min(text.length, from + 1))]);
}

const tag = { name: Tag.define(), text: Tag.define(), number: Tag.define(), word: Tag.define() };

function token(stream: StringStream): string | null {
  if (stream.eatSpace()) return null;
  if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return stream.match(/^\s*:/, false) ? 'name' : 'text';
  if (stream.match(/^-?\d[\d.eE+-]*/)) return 'number';
  if (stream.match(/^(?:true|false|null)\b/)) return 'word';
  stream.next();
  return null;
}

function language(): Extension {
  const json = StreamLanguage.define({ token, tokenTable: tag, languageData: { closeBrackets: { brackets: ['[', '{', '"'] } } });
  const colours = HighlightStyle.define([
    { tag: tag.name, color: 'var(--json-name)' },
    { tag: tag.text, color: 'var(--json-text)' },
    { tag: tag.number, color: 'var(--json-number)' },
    { tag: tag.word, color: 'var(--json-number)' },
  ]);
  return [json, syntaxHighlighting(colours)];
}

const look = EditorView.theme({
  '&': {
    '--json-name': 'light-dark(#7a2e6e, #e3a8d8)',
    '--json-text': 'light-dark(#1b6044, #8fd3b2)',
    '--json-number': 'light-dark(#1a5cb0, #8fbbf5)',
  },
  '.cm-scroller': { font: '12px/20px var(--mono)' },
  '.cm-content': { padding: '12px 0 32px', maxWidth: 'none' },
  '.cm-line': { padding: '0 16px 0 8px' },
  '.cm-wrong': { textDecoration: 'underline wavy var(--err)', textDecorationSkipInk: 'none', backgroundColor: 'var(--err-soft)' },
});
