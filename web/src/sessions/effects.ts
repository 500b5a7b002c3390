// What a fork does not undo: tools that have run keep what they did outside of the session.

import { itemsOf } from './turns';
import type { Message } from './types';

export interface Ran {
  name: string;
  times: number;
}

export interface Effects {
  /** Tools that ran up to the snapshot. */
  before: Ran[];
  /** Tools that ran in turns that a fork leaves out. */
  after: Ran[];
  /** Tools that wait and have not run. */
  waiting: string[];
}

/** The tools of a conversation, before and after the first `count` messages. */
export function effectsOf(messages: readonly Message[], count: number, isReadOnly: (tool: string) => boolean): Effects {
  const calls = (part: readonly Message[]): { name: string; hasRun: boolean }[] =>
    itemsOf(part).flatMap((item) =>
      item.kind === 'call' ? { name: item.call.name, hasRun: item.call.hasOutput } : [],
    );
  const ran = (part: readonly Message[]): Ran[] => {
    const times = new Map<string, number>();
    for (const { name, hasRun } of calls(part)) {
      if (hasRun && !isReadOnly(name)) times.set(name, (times.get(name) ?? 0) + 1);
    }
    return [...times].map(([name, number]) => ({ name, times: number }));
  };
  const waiting = calls(messages.slice(count)).filter(({ hasRun }) => !hasRun);
  return {
    before: ran(messages.slice(0, count)),
    after: ran(messages.slice(count)),
    waiting: [...new Set(waiting.map(({ name }) => name))],
  };
}
