// The time axis of the waterfall: steps of 1, 2 or 5, in a unit that fits.

export interface Axis {
  /** Positions in percent, and their labels; the last one has the unit. */
  ticks: { at: number; label: string }[];
  /** The distance of two ticks in percent. */
  step: number;
}

const UNITS: [number, string][] = [
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
  [1, 'ms'],
  [0.001, 'µs'],
];

/** The axis of a duration in milliseconds, with at most `most` steps. */
export function axisOf(duration: number, most = 5): Axis {
  if (!(duration > 0)) return { ticks: [{ at: 0, label: '0' }], step: 100 };
  const [unit, name] = UNITS.find(([size]) => duration >= size) ?? [0.001, 'µs'];
  const whole = duration / unit;
  const step = stepOf(whole, most);
  const count = Math.floor(whole / step + 1e-9);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = Array.from({ length: count + 1 }, (_, index) => {
    const value = (index * step).toFixed(index === 0 ? 0 : decimals);
    return { at: ((index * step) / whole) * 100, label: index === count && index > 0 ? `${value} ${name}` : value };
  });
  return { ticks, step: (step / whole) * 100 };
}

/** The smallest step of 1, 2 or 5 with which there are at most `most` steps. */
function stepOf(whole: number, most: number): number {
  const rough = whole / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((one) => one * power >= rough * (1 - 1e-9)) ?? 10;
  return factor * power;
}

/** The length of the axis of something that runs: it doubles, so that it changes rarely. */
export function runningLength(elapsed: number, before: number): number {
  let length = Math.max(before, 100);
  while (length < elapsed) length *= 2;
  return length;
}
