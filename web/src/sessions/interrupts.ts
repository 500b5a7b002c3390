// Tools that wait for an answer, and the input that answers them.

import type { Message, Part, TurnInput } from './types';

/** A request of the last message whose tool waits. */
export interface Waiting {
  /** Distinguishes the waiting tools of a turn. */
  id: string;
  name: string;
  ref: string | null;
  input: unknown;
  /** What the tool asks, as one sentence; empty if it does not say. */
  question: string;
  /** The other members of what the tool says. */
  about: Record<string, unknown>;
}

export type Answer =
  /** Stands in for the output of the tool. */
  | { kind: 'respond'; output: unknown }
  /** The tool runs again and gets this value. */
  | { kind: 'restart'; resumed: unknown };

/** Members of an interrupt that hold its question, the best first. */
const QUESTIONS = ['question', 'message', 'prompt', 'reason', 'text', 'title'];

/** The tools that wait at the end of these messages. */
export function waitingIn(messages: readonly Message[]): Waiting[] {
  const last = messages.at(-1);
  if (last?.role !== 'model') return [];
  return last.content.flatMap((part, at) => {
    const interrupt = part.metadata?.['interrupt'];
    if (!part.toolRequest || interrupt === undefined || interrupt === false || interrupt === null) return [];
    const { name, ref = null, input } = part.toolRequest;
    return { id: `${at}:${name}#${ref ?? ''}`, name, ref, input, ...askedBy(interrupt) };
  });
}

function askedBy(interrupt: unknown): Pick<Waiting, 'question' | 'about'> {
  if (typeof interrupt === 'string') return { question: interrupt, about: {} };
  if (typeof interrupt !== 'object' || interrupt === null) return { question: '', about: {} };
  const about = { ...(interrupt as Record<string, unknown>) };
  const name = QUESTIONS.find((member) => typeof about[member] === 'string' && about[member] !== '');
  const question = name ? String(about[name]) : '';
  if (name) delete about[name];
  return { question, about };
}

/** The input of the turn that answers all waiting tools. */
export function resumeOf(answers: readonly (readonly [Waiting, Answer])[]): TurnInput {
  const respond: Part[] = [];
  const restart: Part[] = [];
  for (const [{ name, ref, input }, answer] of answers) {
    const named = { name, ...(ref !== null && { ref }) };
    if (answer.kind === 'respond') respond.push({ toolResponse: { ...named, output: answer.output } });
    else {
      const toolRequest = { ...named, ...(input !== undefined && { input }) };
      restart.push({ toolRequest, metadata: { resumed: answer.resumed } });
    }
  }
  return { resume: { ...(respond.length > 0 && { respond }), ...(restart.length > 0 && { restart }) } };
}

/** Whether a tool can run again: tools that only ask say that they cannot. */
export function canRestart(metadata: Record<string, unknown> | null | undefined): boolean {
  const tool = metadata?.['tool'] as { restartable?: unknown } | undefined;
  return tool?.restartable !== false;
}
