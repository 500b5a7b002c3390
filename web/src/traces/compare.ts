// Two traces side by side: spans are paired by the path of their names.

import { sameJson } from '../ui/json_diff';
import { inputOf, outputOf } from './spans';
import type { Node, Tree } from './tree';

export interface Pair {
  /** The names of the spans on the way, with the number of the span among equal ones. */
  path: string;
  name: string;
  kind: string;
  depth: number;
  left: Node | null;
  right: Node | null;
  /** How the durations differ in milliseconds; `null` if one is unknown. */
  longer: number | null;
  isInputSame: boolean;
  isOutputSame: boolean;
}

/** Pairs the spans of two traces, in the order of the first one; what only the second has follows its parent. */
export function pairs(left: Tree, right: Tree): Pair[] {
  const result: Pair[] = [];
  const visit = (lefts: readonly Node[], rights: readonly Node[], path: string, depth: number): void => {
    const others = keyed(rights);
    for (const [key, node] of keyed(lefts)) {
      const other = others.get(key) ?? null;
      others.delete(key);
      result.push(pairOf(node, other, `${path}/${key}`, depth));
      visit(node.children, other?.children ?? [], `${path}/${key}`, depth + 1);
    }
    for (const [key, node] of others) {
      result.push(pairOf(null, node, `${path}/${key}`, depth));
      visit([], node.children, `${path}/${key}`, depth + 1);
    }
  };
  visit(left.roots, right.roots, '', 0);
  return result;
}

/** Nodes by their name and the number of equal names before them. */
function keyed(nodes: readonly Node[]): Map<string, Node> {
  const seen = new Map<string, number>();
  return new Map(
    nodes.map((node) => {
      const name = `${node.kind}:${node.name}`;
      const count = seen.get(name) ?? 0;
      seen.set(name, count + 1);
      return [`${name}#${count}`, node];
    }),
  );
}

function pairOf(left: Node | null, right: Node | null, path: string, depth: number): Pair {
  const one = left ?? right;
  const isBoth = left !== null && right !== null;
  const [before, after] = [durationOf(left), durationOf(right)];
  return {
    path,
    name: one?.name ?? '',
    kind: one?.kind ?? '',
    depth,
    left,
    right,
    longer: before !== null && after !== null ? after - before : null,
    isInputSame: isBoth && sameAttribute(left, right, 'genkit:input', inputOf),
    isOutputSame: isBoth && sameAttribute(left, right, 'genkit:output', outputOf),
  };
}

/** Texts are compared first: most are equal, and need not be read. */
function sameAttribute(left: Node, right: Node, name: string, read: (span: Node['span']) => unknown): boolean {
  if (left.span.attributes[name] === right.span.attributes[name]) return true;
  return sameJson(read(left.span), read(right.span));
}

export function durationOf(node: Node | null): number | null {
  return node && !node.isRunning ? node.span.endTime - node.span.startTime : null;
}

/** Whether a pair has any difference besides its duration. */
export function isDifferent({ left, right, isInputSame, isOutputSame }: Pair): boolean {
  if (!left || !right) return true;
  const isTokensSame = left.tokensIn === right.tokensIn && left.tokensOut === right.tokensOut;
  return !isInputSame || !isOutputSame || !isTokensSame || left.isError !== right.isError;
}
