// Lines that an application has printed, split into time, level and text where they have them.

export interface LogLine {
  /** The time of day; empty if the line has none. */
  time: string;
  /** The level in capitals; empty if the line has none. */
  level: string;
  text: string;
}

const ESCAPES = /\u001b\[[0-9;?]*[ -/]*[@-~]/g;
const TIME = /^\[?(?:\d{4}-\d{2}-\d{2}[T ])?(\d{2}:\d{2}:\d{2})(?:[.,]\d+)?(?:Z|[+-]\d{2}:?\d{2})?\]?\s+/;
const LEVEL = /^\[?(TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL)\b\]?:?\s+/i;

/** The parts of a line. Sequences that colour a terminal are removed. */
export function logLine(raw: string): LogLine {
  let text = raw.replace(ESCAPES, '');
  const time = TIME.exec(text);
  if (time) text = text.slice(time[0].length);
  const level = LEVEL.exec(text);
  if (level) text = text.slice(level[0].length);
  return { time: time?.[1] ?? '', level: level?.[1]?.toUpperCase() ?? '', text };
}

/** Whether a level tells of a failure. */
export function isBad(level: string): boolean {
  return ['ERROR', 'FATAL', 'CRITICAL'].includes(level);
}
