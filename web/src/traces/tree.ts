// The tree of a trace's spans, and the rows of the waterfall.

import type { SpanData, SpanInfo, TokenUsage } from '../api/tools_types';
import { isError, isRunning, spanKind, spanName, usageOf } from './spans';

export interface Node {
  id: string;
  span: SpanData;
  name: string;
  kind: string;
  depth: number;
  parent: Node | null;
  children: Node[];
  isError: boolean;
  /** Whether a span below has failed. */
  hasErrorInside: boolean;
  isRunning: boolean;
  usage: TokenUsage | null;
  /** Tokens of this span and of all below it. */
  tokensIn: number;
  tokensOut: number;
  hasTokens: boolean;
}

export interface Tree {
  roots: Node[];
  nodes: Map<string, Node>;
  /** All nodes, parents before their children. */
  all: Node[];
  start: number;
  /** The latest end; spans that run have none. */
  end: number;
}

/** Builds the tree. A span whose parent is missing is a root; children are sorted by their start. */
export function treeOf(infos: readonly SpanInfo[]): Tree {
  const nodes = new Map<string, Node>();
  for (const { span, usage } of infos) nodes.set(span.spanId, newNode(span, usage));
  const roots: Node[] = [];
  for (const node of nodes.values()) {
    const parent = node.span.parentSpanId ? nodes.get(node.span.parentSpanId) : undefined;
    if (parent && parent !== node) {
      node.parent = parent;
      parent.children.push(node);
    } else roots.push(node);
  }
  const byStart = (a: Node, b: Node): number => a.span.startTime - b.span.startTime;
  roots.sort(byStart);
  const all = inOrder(roots, byStart);
  if (all.length < nodes.size) all.push(...inCycles(nodes, all, roots));
  for (const node of all.toReversed()) sumUp(node);
  return { roots, nodes, all, ...extent(all) };
}

function newNode(span: SpanData, known: TokenUsage | null | undefined): Node {
  const usage = usageOf(span, known);
  return {
    id: span.spanId,
    span,
    name: spanName(span),
    kind: spanKind(span),
    depth: 0,
    parent: null,
    children: [],
    isError: isError(span),
    hasErrorInside: false,
    isRunning: isRunning(span),
    usage,
    tokensIn: usage?.inputTokens ?? 0,
    tokensOut: usage?.outputTokens ?? 0,
    hasTokens: usage !== null,
  };
}

/** Without recursion: a chain of 10,000 spans is as deep. */
function inOrder(roots: readonly Node[], byStart: (a: Node, b: Node) => number): Node[] {
  const all: Node[] = [];
  const stack = roots.toReversed();
  for (let node = stack.pop(); node; node = stack.pop()) {
    all.push(node);
    if (node.children.length > 1) node.children.sort(byStart);
    for (let index = node.children.length - 1; index >= 0; index -= 1) {
      const child = node.children[index];
      if (!child) continue;
      child.depth = node.depth + 1;
      stack.push(child);
    }
  }
  return all;
}

/** Spans that are their own ancestors, which only a broken runtime sends: each becomes a root. */
function inCycles(nodes: ReadonlyMap<string, Node>, all: readonly Node[], roots: Node[]): Node[] {
  const reached = new Set(all);
  const left = [...nodes.values()].filter((node) => !reached.has(node));
  for (const node of left) {
    node.parent = null;
    node.children = [];
  }
  roots.push(...left);
  return left;
}

/** Adds what a node has to its parent. */
function sumUp(node: Node): void {
  const { parent } = node;
  if (!parent) return;
  parent.tokensIn += node.tokensIn;
  parent.tokensOut += node.tokensOut;
  parent.hasTokens ||= node.hasTokens;
  parent.hasErrorInside ||= node.isError || node.hasErrorInside;
}

function extent(all: readonly Node[]): { start: number; end: number } {
  let [start, end] = [Infinity, 0];
  for (const { span } of all) {
    start = Math.min(start, span.startTime);
    end = Math.max(end, span.endTime, span.startTime);
  }
  return { start: start === Infinity ? 0 : start, end };
}

/** The rows of the waterfall: the descendants of folded nodes are left out. */
export function visibleRows(tree: Tree, folded: ReadonlySet<string>): Node[] {
  if (folded.size === 0) return tree.all;
  const rows: Node[] = [];
  let hiddenBelow = Infinity;
  for (const node of tree.all) {
    if (node.depth > hiddenBelow) continue;
    hiddenBelow = folded.has(node.id) ? node.depth : Infinity;
    rows.push(node);
  }
  return rows;
}

export interface Bar {
  /** In percent of the axis. */
  left: number;
  width: number;
  /** Where the duration is written: right of the bar, left of it, or beside the name. */
  label: 'right' | 'left' | 'name';
}

/** Percent of the axis that a label needs. */
const LABEL = 22;

/** Where the bar of a node is, on an axis of `length` milliseconds. */
export function barOf(node: Node, start: number, length: number, now: number): Bar {
  const end = node.isRunning ? Math.max(now, node.span.startTime) : node.span.endTime;
  const left = Math.min(100, Math.max(0, ((node.span.startTime - start) / length) * 100)) || 0;
  const width = Math.min(100 - left, Math.max(0, ((end - node.span.startTime) / length) * 100)) || 0;
  const label = 100 - left - width >= LABEL ? 'right' : left >= LABEL ? 'left' : 'name';
  return { left, width, label };
}

/** The nodes that lead to failures: the deepest failed spans, which are the causes of the others. */
export function causesOf(node: Node): Node[] {
  const causes: Node[] = [];
  const stack = [...node.children];
  for (let one = stack.pop(); one; one = stack.pop()) {
    if (one.isError && !one.hasErrorInside) causes.push(one);
    else if (one.hasErrorInside) stack.push(...one.children);
  }
  return causes;
}
