// Times and sizes for people: ages up to an hour, then times, then dates.

const time = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const year = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
const whole = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** How long ago a moment was, as short as possible. */
export function age(timestamp: string, now: number): string {
  const at = Date.parse(timestamp);
  if (Number.isNaN(at)) return '–';
  const ago = Math.max(0, now - at);
  if (ago < MINUTE) return 'now';
  if (ago < HOUR) return `${Math.floor(ago / MINUTE)} min`;
  const then = new Date(at);
  const today = new Date(now);
  if (then.toDateString() === today.toDateString()) return time.format(then);
  return (then.getFullYear() === today.getFullYear() ? day : year).format(then);
}

/** A whole date and time. */
export function moment(timestamp: string): string {
  const at = Date.parse(timestamp);
  return Number.isNaN(at) ? '–' : whole.format(at);
}

/** A time of day. */
export function timeOfDay(timestamp: string): string {
  const at = Date.parse(timestamp);
  return Number.isNaN(at) ? '–' : time.format(at);
}

/** A duration such as `12 s` or `3 min`. */
export function duration(milliseconds: number): string {
  if (milliseconds < MINUTE) return `${Math.max(0, Math.round(milliseconds / 1000))} s`;
  if (milliseconds < HOUR) return `${Math.floor(milliseconds / MINUTE)} min`;
  return `${Math.floor(milliseconds / HOUR)} h`;
}

/** A number of bytes. */
export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1000).toFixed(1)} kB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** A measured time: `626 µs`, `9.2 ms`, `1.8 s`, `2 min 5 s`; `–` if it is unknown. */
export function elapsed(milliseconds: number | null | undefined): string {
  if (milliseconds === null || milliseconds === undefined || Number.isNaN(milliseconds)) return '–';
  if (milliseconds < 1) return `${Math.round(milliseconds * 1000)} µs`;
  if (milliseconds < 1000) return `${shortened(milliseconds)} ms`;
  if (milliseconds < MINUTE) return `${shortened(milliseconds / 1000)} s`;
  if (milliseconds < HOUR) {
    return `${Math.floor(milliseconds / MINUTE)} min ${Math.floor((milliseconds % MINUTE) / 1000)} s`;
  }
  return `${Math.floor(milliseconds / HOUR)} h ${Math.floor((milliseconds % HOUR) / MINUTE)} min`;
}

/** A number with one decimal below 100. */
function shortened(value: number): string {
  return value < 100 ? value.toFixed(1).replace(/\.0$/, '') : String(Math.round(value));
}
