// Cursors and selections of others in the editor. They move with the text until the next message
// says where they are.

import { StateEffect, StateField, type Extension, type Range } from '@codemirror/state';
import { Decoration, EditorView, WidgetType, type DecorationSet } from '@codemirror/view';

import type { Person } from '../live/messages';
import { colourOf } from './colours';

const setPeople = StateEffect.define<readonly Person[]>();

class Cursor extends WidgetType {
  readonly name: string;
  readonly colour: number;
  readonly at: number;

  constructor(name: string, colour: number, at: number) {
    super();
    this.name = name;
    this.colour = colour;
    this.at = at;
  }

  /** A cursor that has moved is drawn anew: its name appears again for a moment. */
  override eq(other: Cursor): boolean {
    return this.name === other.name && this.colour === other.colour && this.at === other.at;
  }

  override toDOM(): HTMLElement {
    const caret = document.createElement('span');
    caret.className = `cm-person cm-person-${this.colour}`;
    // Screen readers hear the names in the header of the document.
    caret.setAttribute('aria-hidden', 'true');
    const flag = document.createElement('span');
    flag.className = 'cm-person-name';
    flag.textContent = this.name;
    caret.append(flag);
    return caret;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

const field = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(decorations, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setPeople)) return drawn(effect.value, transaction.newDoc.length);
    }
    return decorations.map(transaction.changes);
  },
  provide: (own) => EditorView.decorations.from(own),
});

function drawn(people: readonly Person[], length: number): DecorationSet {
  const ranges: Range<Decoration>[] = [];
  for (const person of people) {
    const colour = colourOf(person.session);
    const { cursor, selection } = person;
    if (selection && selection.start < Math.min(selection.end, length)) {
      const mark = Decoration.mark({ class: `cm-person-range cm-person-${colour}` });
      ranges.push(mark.range(selection.start, Math.min(selection.end, length)));
    }
    if (cursor === undefined) continue;
    const widget = new Cursor(person.name ?? '', colour, cursor);
    ranges.push(Decoration.widget({ widget, side: 1 }).range(Math.min(cursor, length)));
  }
  return Decoration.set(ranges, true);
}

/** Shows people in the editor. */
export function people(): Extension {
  return field;
}

/** The effect that shows these people. */
export function showPeople(list: readonly Person[]): StateEffect<readonly Person[]> {
  return setPeople.of(list);
}
