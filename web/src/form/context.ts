// What all fields of a form share.

import { getContext, setContext } from 'svelte';

import type { Json } from './schema';

export interface FormContext {
  /** The document that references are resolved in. */
  readonly root: Json;
  /** The problem of a field, by its JSON pointer. */
  problemAt(path: string): string | null;
}

const KEY = Symbol('form');

export function provideForm(form: FormContext): void {
  setContext(KEY, form);
}

export function useForm(): FormContext {
  return getContext<FormContext>(KEY);
}

/** What a field needs. */
export interface FieldProps {
  /** Its name: the property, or the number of an entry. */
  name: string;
  path: string;
  schema: Json;
  /** `undefined` if it is not set. */
  value: Json;
  isRequired?: boolean;
  /** The number of fields around it. */
  depth?: number;
  /** Whether the label is left out, because something else beside the field names it. */
  isBare?: boolean;
  onchange: (value: Json) => void;
}
