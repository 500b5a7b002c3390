// Numbers, texts and edits by a seed, so that a failed run can be repeated.

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed * 2654435761) >>> 0 || 1;
  }

  /** A number below `end`. */
  below(end: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    this.#state >>>= 0;
    return this.#state % end;
  }

  pick<T>(list: readonly T[]): T {
    const item = list[this.below(list.length)];
    if (item === undefined) throw new Error('the list is empty');
    return item;
  }
}

const WORDS = ['tea', 'green', 'the', 'a', 'order', '👍🏽', 'größer', '茶', '[[fragment]]', '{{name}}'];

export function randomText(random: Random): string {
  const words = Array.from({ length: random.below(30) }, () => random.pick(WORDS));
  return words.map((word) => word + random.pick([' ', ' ', ', ', '.\n', '\n\n'])).join('');
}

/** Inserts a word before another one, or replaces a word by it. */
export function randomEdit(random: Random, text: string, word: string, mayReplace = true): string {
  const places = [...text.matchAll(/[\p{L}\p{N}_]+/gu)];
  if (places.length === 0) return `${text} ${word}`;
  const place = random.pick(places);
  if (mayReplace && random.below(3) === 0) {
    return text.slice(0, place.index) + word + text.slice(place.index + place[0].length);
  }
  return `${text.slice(0, place.index)}${word} ${text.slice(place.index)}`;
}
