// Inclusions in the editor: names are completed after `[[`, and Ctrl with a click or Enter opens
// the included document.

import {
  autocompletion,
  pickedCompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete';
import type { EditorState, Extension } from '@codemirror/state';
import { EditorView, keymap } from '@codemirror/view';

/** A document that can be included. */
export interface Candidate {
  id: string;
  kind: string;
  about: string;
}

export interface InclusionOptions {
  /** The documents whose names fit a query, best first. */
  suggest(query: string): Promise<Candidate[]>;
  /** Opens a document by the name in an inclusion. */
  open(name: string): void;
}

/** Tags that people look up most. */
const TAGS: readonly Completion[] = [
  { label: 'role "system"', detail: 'a message to the model', apply: close('role "system"') },
  { label: 'role "user"', detail: 'a message of the user', apply: close('role "user"') },
  { label: 'role "model"', detail: 'an answer of the model', apply: close('role "model"') },
  { label: 'history', detail: 'the conversation so far', apply: close('history') },
  { label: 'media url=', detail: 'an image or a file', apply: close('media url=') },
  { label: '#if', detail: 'only if it is set', apply: close('#if ') },
  { label: '#each', detail: 'once for each', apply: close('#each ') },
  { label: 'else', apply: close('else') },
];

export function inclusions(options: InclusionOptions): Extension {
  return [
    autocompletion({
      override: [(context) => names(context, options), tags],
      icons: false,
      activateOnTypingDelay: 30,
      optionClass: (completion) => (completion.type === 'fragment' ? 'cm-fragment' : ''),
    }),
    keymap.of([
      {
        key: 'Mod-Enter',
        run: ({ state }) => openAt(state, state.selection.main.head, options),
      },
    ]),
    EditorView.domEventHandlers({
      mousedown: (event, view) => {
        if (!event.ctrlKey && !event.metaKey) return false;
        const at = view.posAtCoords({ x: event.clientX, y: event.clientY });
        return at !== null && openAt(view.state, at, options);
      },
    }),
  ];
}

async function names(
  context: CompletionContext,
  options: InclusionOptions,
): Promise<CompletionResult | null> {
  const before = context.matchBefore(/\[\[[^\]\n]*/);
  if (!before) return null;
  const query = before.text.slice(2);
  const found = await options.suggest(query).catch(() => []);
  if (context.aborted || found.length === 0) return null;
  return {
    from: before.from + 2,
    filter: false,
    options: found.map(({ id, kind, about }) => ({
      label: id,
      type: kind,
      detail: about,
      apply: close(id, ']]'),
    })),
  };
}

function tags(context: CompletionContext): CompletionResult | null {
  const before = context.matchBefore(/\{\{[#\w "]*/);
  return before && { from: before.from + 2, options: [...TAGS], validFor: /^[#\w "=]*$/ };
}

/** Inserts a text and its closing brackets, unless they stand there already. */
function close(text: string, brackets = '}}'): NonNullable<Completion['apply']> {
  return (view, completion, from, to) => {
    const next = view.state.sliceDoc(to, to + brackets.length);
    const end = next === brackets ? to + brackets.length : to;
    const insert = text + brackets;
    // The cursor stays inside where something has to be added.
    const isOpen = /[ =]$/.test(text);
    view.dispatch({
      changes: { from, to: end, insert },
      selection: { anchor: from + (isOpen ? text.length : insert.length) },
      userEvent: 'input.complete',
      annotations: pickedCompletion.of(completion),
    });
  };
}

function openAt(state: EditorState, at: number, options: InclusionOptions): boolean {
  const line = state.doc.lineAt(at);
  for (const found of line.text.matchAll(/\[\[([^\]\n]+)\]\]/g)) {
    const start = line.from + found.index;
    if (at < start || at > start + found[0].length || !found[1]) continue;
    options.open(found[1].trim().replace(/@[^@]*$/, '').replace(/\.md$/, ''));
    return true;
  }
  return false;
}
