// The look of the editor, in the colours of the page. The editor is in a shadow root, where
// CodeMirror uses constructed style sheets: the page needs no inline styles, which its policy
// forbids.

import type { Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';

const people = Object.fromEntries(
  [0, 1, 2, 3, 4].map((colour) => [`.cm-person-${colour}`, { '--person': `var(--person-${colour})` }]),
);

const look = EditorView.theme({
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'var(--surface)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': {
    font: '13px/22px var(--mono)',
    scrollbarWidth: 'thin',
    scrollbarColor: 'var(--line) transparent',
  },
  '.cm-content': { padding: '14px 0 40vh', caretColor: 'var(--accent)', maxWidth: '108ch' },
  '.cm-line': { padding: '0 24px 0 10px' },
  '.cm-gutters': { backgroundColor: 'transparent', border: 'none', color: 'var(--text-3)', paddingLeft: '8px' },
  '.cm-lineNumbers .cm-gutterElement': { minWidth: '28px', padding: '0 6px 0 0', fontSize: '11px' },
  '.cm-activeLine': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--sunken) 60%, transparent)' },
  '.cm-activeLineGutter': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-activeLineGutter': { color: 'var(--text)' },
  '.cm-cursor, .cm-dropCursor': { borderLeft: '2px solid var(--accent)', marginLeft: '-1px' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground, .cm-content ::selection':
    { backgroundColor: 'color-mix(in srgb, var(--accent) 22%, transparent)' },
  '.cm-placeholder': { color: 'var(--text-3)' },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': {
    backgroundColor: 'var(--accent-soft)',
    outline: '1px solid color-mix(in srgb, var(--accent) 40%, transparent)',
  },
  '.cm-searchMatch': { backgroundColor: 'var(--wait-soft)', outline: '1px solid var(--wait)' },
  '.cm-searchMatch-selected': { backgroundColor: 'color-mix(in srgb, var(--wait) 30%, transparent)' },
});

const tooltips = EditorView.theme({
  '.cm-tooltip': {
    backgroundColor: 'var(--surface)',
    border: '1px solid var(--line)',
    borderRadius: '8px',
    boxShadow: 'var(--shadow)',
    overflow: 'hidden',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { font: '13px/20px var(--sans)', maxHeight: '264px', minWidth: '220px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': {
    padding: '5px 12px',
    display: 'flex',
    gap: '12px',
    alignItems: 'baseline',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent-soft)',
    color: 'var(--text)',
    boxShadow: 'inset 2px 0 var(--accent)',
  },
  '.cm-completionLabel': { fontWeight: '500' },
  '.cm-completionMatchedText': { textDecoration: 'none', color: 'var(--accent)' },
  '.cm-completionDetail': {
    marginLeft: 'auto',
    fontStyle: 'normal',
    fontSize: '12px',
    color: 'var(--text-3)',
    maxWidth: '26ch',
    overflow: 'hidden',
    textOverflow: 'ellipsis',
    whiteSpace: 'nowrap',
  },
  '.cm-panels': { backgroundColor: 'var(--bg)', color: 'var(--text)', borderColor: 'var(--line)' },
  '.cm-panels.cm-panels-top': { borderBottom: '1px solid var(--line)' },
  '.cm-panel.cm-search': { padding: '8px 36px 8px 12px', font: '12px/16px var(--sans)' },
  '.cm-panel.cm-search label': { fontSize: '12px', color: 'var(--text-2)' },
  '.cm-panel.cm-search [name=close]': { fontSize: '18px', width: '28px', height: '28px', color: 'var(--text-2)', cursor: 'pointer' },
  '.cm-textfield': {
    font: '13px/20px var(--sans)',
    backgroundColor: 'var(--surface)',
    border: '1px solid var(--control)',
    borderRadius: '6px',
    padding: '3px 8px',
  },
  '.cm-button': {
    font: '500 12px/16px var(--sans)',
    backgroundImage: 'none',
    backgroundColor: 'var(--surface)',
    border: '1px solid var(--line)',
    borderRadius: '6px',
    padding: '5px 10px',
    color: 'var(--text)',
  },
  '.cm-textfield:focus-visible, .cm-button:focus-visible, .cm-panel button:focus-visible': {
    outline: '2px solid var(--accent)',
    outlineOffset: '1px',
  },
});

const others = EditorView.theme({
  ...people,
  '.cm-person-range': { backgroundColor: 'color-mix(in srgb, var(--person) 22%, transparent)' },
  '.cm-person': {
    position: 'relative',
    borderLeft: '2px solid var(--person)',
    marginLeft: '-1px',
    marginRight: '-1px',
  },
  '.cm-person-name': {
    position: 'absolute',
    left: '-2px',
    bottom: '100%',
    padding: '0 5px',
    font: '500 11px/15px var(--sans)',
    whiteSpace: 'nowrap',
    color: 'var(--text)',
    backgroundColor: 'color-mix(in srgb, var(--person) 20%, var(--surface))',
    border: '1px solid var(--person)',
    borderRadius: '4px 4px 4px 0',
    pointerEvents: 'none',
    zIndex: '1',
    // The name covers the text: it stays for a moment after a move, and while it is pointed at.
    animation: 'cm-person-leave 300ms 2.5s both',
  },
  '.cm-person:hover .cm-person-name': { animation: 'none' },
  '@keyframes cm-person-leave': { to: { opacity: '0' } },
  // There is no room above the first line.
  '.cm-line:first-child .cm-person-name': { bottom: 'auto', top: '100%', borderRadius: '0 4px 4px 4px' },
});

const narrow = EditorView.theme({
  '@media (max-width: 767px)': {
    '.cm-scroller': { fontSize: '16px', lineHeight: '25px' },
    '.cm-content': { paddingBottom: '30vh' },
    '.cm-line': { padding: '0 16px' },
    '.cm-gutters': { display: 'none' },
  },
});

/** The look of the editor. */
export function editorTheme(): Extension {
  // The first has the highest precedence.
  return [narrow, others, tooltips, look];
}
