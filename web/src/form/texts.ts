// Texts of forms and of the JSON editor.

import type { NoteId } from './schema';

const plural = (count: number, one: string, many: string): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

export const texts = {
  input: 'input',
  required: 'required',
  notSet: 'not set',
  isNull: 'null',
  set: 'Set',
  setNull: 'Set to null',
  unset: (name: string) => `${name}: not set`,
  nullOf: (name: string) => `Set ${name} to null`,
  setOf: (name: string) => `Set ${name}`,
  add: 'Add entry',
  addMember: 'Add member',
  memberName: 'Name of the member',
  entry: (at: number) => `${at + 1}`,
  remove: (name: string) => `Remove ${name}`,
  up: (name: string) => `Move ${name} up`,
  entries: (count: number) => plural(count, 'entry', 'entries'),
  empty: 'no entries',
  emptyObject: 'no members',
  more: (count: number) => `Show ${plural(count, 'more entry', 'more entries')}`,
  form: (name: string) => `Form of ${name}`,
  choose: 'Choose',
  asText: 'This is not JSON: it is sent as text.',
  jsonPlaceholder: 'JSON, or text',
  emptyText: 'an empty text',
  notes: {
    reference: 'The schema refers to something that does not exist. Write the value as JSON.',
    notSchema: 'The schema of this value is not a schema. Write the value as JSON.',
    type: 'The schema has an unknown type. Write the value as JSON.',
    loop: 'The schema refers to itself without end. Write the value as JSON.',
    merge: 'The schema contradicts itself. Write the value as JSON.',
    never: 'The schema allows no value here. One can be written as JSON.',
  } satisfies Record<NoteId, string>,
  outside: 'not in the schema',
  wrongType: 'The value is of another type than the schema says. It stays as it is until you replace it.',
  replace: 'Replace',
  hints: {
    integer: 'Whole number',
    number: 'Number',
    range: (least: number, most: number) => `${least} to ${most}`,
    atLeast: (least: number) => `${least} or more`,
    atMost: (most: number) => `${most} or less`,
    above: (least: number) => `above ${least}`,
    below: (most: number) => `below ${most}`,
    multiple: (of: number) => `a multiple of ${of}`,
    length: (least: number | null, most: number | null) =>
      least === null ? `At most ${most} characters` : most === null ? `At least ${least} characters` : `${least} to ${most} characters`,
    entries: (least: number | null, most: number | null) =>
      least === null
        ? `At most ${plural(most ?? 0, 'entry', 'entries')}`
        : most === null
          ? `At least ${plural(least, 'entry', 'entries')}`
          : `${least} to ${most} entries`,
    pattern: (pattern: string) => `Matches ${pattern}`,
    preset: (value: string) => `${value} if it is not set`,
    example: (value: string) => `Such as ${value}`,
    formats: {
      date: 'A date: 2026-11-18',
      time: 'A time: 08:30:00Z',
      'date-time': 'A date and time: 2026-11-18T08:30:00Z',
      email: 'An email address',
      uri: 'A URL',
      uuid: 'A UUID',
      duration: 'A duration: PT15M',
    } as Record<string, string>,
  },
  editor: {
    problem: (line: number, message: string) => `Line ${line}: ${message}.`,
    loading: 'The editor is loaded',
    failed: 'The editor cannot be loaded. The text can be edited here.',
    placeholder: 'JSON',
    format: 'Format',
  },
};
