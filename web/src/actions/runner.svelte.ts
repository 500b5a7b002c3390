// The runner of one action: its draft, its runs, its history. It stays while the page is open, so
// that a run goes on and is found again after a look elsewhere.

import { untrack } from 'svelte';

import { parseJson, writeJson } from '../form/json_text';
import { fieldOf } from '../form/schema';
import { notices } from '../state/notices.svelte';
import { later } from '../ui/later';
import {
  contextOf,
  forgetPast,
  forgetSaved,
  labelsOf,
  readCalls,
  readDraft,
  rememberCall,
  saveCall,
  timeoutOf,
  writeDraft,
  type CallOptions,
  type Calls,
  type Label,
} from './call';
import { pretty } from './pretty';
import { Run, type RunCall } from './run.svelte';
import { texts } from './texts';

/** Pause before a draft is stored, in milliseconds. */
const DRAFT_PAUSE = 300;

export class Runner {
  readonly key: string;
  #text = $state('');
  #value = $state.raw<unknown>(undefined);
  /** Whether the form has changed the value since the text was written. */
  #isTextOld = false;
  #broken = $state.raw<{ line: number; message: string } | null>(null);
  context = $state('');
  labels = $state<Label[]>([]);
  timeout = $state('');
  #calls = $state.raw<Calls>({ past: [], saved: [] });
  #run = $state.raw<Run | null>(null);
  #other = $state.raw<Run | null>(null);
  #isTried = $state(false);
  readonly #store = later(DRAFT_PAUSE, () => this.#writeDraft());

  constructor(key: string, schema: unknown, isModel: boolean) {
    this.key = key;
    this.#calls = readCalls(localStorage, key);
    if (!this.readDraft()) this.#begin(schema, isModel);
  }

  get value(): unknown {
    return this.#value;
  }

  get text(): string {
    return this.#text;
  }

  /** Why the text is not JSON; `null` if it is. */
  get broken(): { line: number; message: string } | null {
    return this.#broken;
  }

  get calls(): Calls {
    return this.#calls;
  }

  get run(): Run | null {
    return this.#run;
  }

  /** The run that is compared with. */
  get other(): Run | null {
    return this.#other;
  }

  /** Whether a run was tried: then missing members are problems. */
  get isTried(): boolean {
    return this.#isTried;
  }

  /** Reads the draft of this tab, if there is one. */
  readDraft(): boolean {
    const draft = readDraft(sessionStorage, this.key);
    if (!draft) return false;
    this.#take(draft.text, draft);
    return true;
  }

  /** The form has changed the value. */
  setValue(value: unknown): void {
    this.#value = value;
    this.#isTextOld = true;
    this.#broken = null;
    this.#store.soon();
  }

  /** A person has edited the text. */
  setText(text: string): void {
    this.#text = text;
    this.#isTextOld = false;
    this.#read();
    this.#store.soon();
  }

  /** The text for the editor, with what the form has changed. */
  writeText(): void {
    if (!this.#isTextOld) return;
    this.#text = writeJson(this.#value);
    this.#isTextOld = false;
  }

  /** Drops a broken text in favour of the last value. */
  dropText(): void {
    this.#isTextOld = true;
    this.#broken = null;
    this.writeText();
    this.#store.soon();
  }

  optionsChanged(): void {
    this.#store.soon();
  }

  /** Replaces the input, such as by one of the history. */
  use(input: string, options?: CallOptions): void {
    this.#take(input, options ?? { context: this.context, labels: this.labels, timeout: this.timeout });
    this.#store.soon();
  }

  /** The call as it would be run now. */
  call(runtime: string | null): RunCall {
    return {
      key: this.key,
      input: this.#value,
      context: contextOf(this.context) ?? undefined,
      labels: labelsOf(this.labels),
      timeout: timeoutOf(this.timeout),
      runtime,
    };
  }

  /** Runs the call, and the same with another model or runtime if that is given. */
  start(runtime: string | null, compared: { key: string; runtime: string | null } | null, started: (run: Run) => void): void {
    this.#isTried = true;
    const call = this.call(runtime);
    this.#run = Run.start(call, (run) => this.#ended(run));
    this.#other = compared ? Run.start({ ...call, ...compared }, () => undefined) : null;
    started(this.#run);
  }

  stop(): void {
    void this.#run?.stop();
    void this.#other?.stop();
  }

  get isRunning(): boolean {
    return this.#run?.state === 'running' || this.#other?.state === 'running';
  }

  /** Shows a run of earlier, by its trace. */
  async show(traceId: string): Promise<void> {
    if (this.#run?.traceId === traceId || this.isRunning) return;
    try {
      const run = await Run.ofTrace(this.key, traceId);
      if (!this.isRunning) this.#run = run;
    } catch {
      // The trace was deleted: the input is still there.
    }
  }

  save(name: string): void {
    this.writeText();
    const { context, timeout } = this;
    const labels = this.labels.map((label) => ({ ...label }));
    this.#calls = saveCall(localStorage, this.key, { name, input: this.#text, context, labels, timeout });
    notices.show(texts.savedToast(name));
  }

  forgetSaved(name: string): void {
    this.#calls = forgetSaved(localStorage, this.key, name);
  }

  forgetPast(): void {
    this.#calls = forgetPast(localStorage, this.key);
  }

  #ended(run: Run): void {
    const { state } = run;
    if (state === 'running') return;
    notices.announce(texts.announce[state]);
    this.#calls = rememberCall(localStorage, this.key, {
      at: run.startedAt,
      input: run.call.input === undefined ? '' : JSON.stringify(run.call.input),
      status: state,
      milliseconds: run.milliseconds,
      traceId: run.traceId,
      ...(run.failure && { error: run.failure.message.slice(0, 300) }),
    });
  }

  /** The first input: the last one that was run, or the least that has the right form. */
  #begin(schema: unknown, isModel: boolean): void {
    const last = this.#calls.past[0];
    if (last) return this.use(pretty(last.input));
    if (isModel) this.#value = { messages: [{ role: 'user', content: [{ text: '' }] }] };
    else if (fieldOf(schema, schema).shape.kind === 'object') this.#value = {};
    this.#text = writeJson(this.#value);
  }

  #take(text: string, { context, labels, timeout }: CallOptions): void {
    this.#text = text;
    this.#isTextOld = false;
    this.context = context;
    this.labels = labels;
    this.timeout = timeout;
    this.#read();
  }

  #read(): void {
    if (this.#text.trim() === '') {
      this.#value = undefined;
      this.#broken = null;
      return;
    }
    const parsed = parseJson(this.#text);
    if (parsed.ok) this.#value = parsed.value;
    this.#broken = parsed.ok ? null : parsed;
  }

  #writeDraft(): void {
    if (this.#isTextOld) this.writeText();
    const { context, timeout } = this;
    writeDraft(sessionStorage, this.key, { text: this.#text, value: this.#value, context, labels: this.labels, timeout });
  }
}

const runners = new Map<string, Runner>();

/** The runner of an action. */
export function runnerOf(key: string, schema: unknown, isModel: boolean): Runner {
  const known = runners.get(key);
  if (known) return known;
  const runner = untrack(() => new Runner(key, schema, isModel));
  runners.set(key, runner);
  return runner;
}
