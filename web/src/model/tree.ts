// Turns sums by stack into a tree of calls, and the tree into rectangles.
import type { StackSums } from "./live.ts";
import type { Names } from "./names.ts";

export interface TreeNode {
  /** frame id, or -1 for the root */
  frame: number;
  bytes: number;
  blocks: number;
  children: Map<number, TreeNode>;
  parent: TreeNode | null;
}

/** Which frames of a stack are shown. */
export type FrameChoice = "all" | "python" | "user" | "module";

const SHOWN: Record<Exclude<FrameChoice, "all">, (this: Names, frame: number) => boolean> = {
  python(f) {
    return this.isPython(f);
  },
  user(f) {
    return this.isUser(f);
  },
  module(f) {
    return this.isModule(f);
  },
};

export interface TreeOptions {
  /** outermost call on top (callees below), or the allocating line on top (callers below) */
  order: "callees" | "callers";
  frames: FrameChoice;
  /** keep what grew, or what shrank */
  sign: 1 | -1;
}

function makeNode(frame: number, parent: TreeNode | null): TreeNode {
  return { frame, bytes: 0, blocks: 0, children: new Map(), parent };
}

export function buildTree(sums: StackSums, names: Names, options: TreeOptions): TreeNode {
  const root = makeNode(-1, null);
  for (let stack = 0; stack < sums.bytes.length; stack++) {
    const bytes = sums.bytes[stack]! * options.sign;
    if (bytes <= 0) continue;
    let path = names.stackFrames(stack);
    if (options.frames !== "all") path = path.filter(SHOWN[options.frames].bind(names));
    if (path.length === 0) path = [names.siteOf(stack)];
    if (options.order === "callees") path.reverse();
    addPath(root, path, bytes, sums.blocks[stack]! * options.sign);
  }
  return root;
}

function addPath(root: TreeNode, path: number[], bytes: number, blocks: number): void {
  let node = root;
  node.bytes += bytes;
  node.blocks += blocks;
  for (const frame of path) {
    let child = node.children.get(frame);
    if (!child) {
      child = makeNode(frame, node);
      node.children.set(frame, child);
    }
    child.bytes += bytes;
    child.blocks += blocks;
    node = child;
  }
}

export function largestFirst(node: TreeNode): TreeNode[] {
  return [...node.children.values()].sort((a, b) => b.bytes - a.bytes || a.frame - b.frame);
}

/**
 * Frames whose file, line or function matches all search words; null when there are no words.
 */
export function findFrames(query: string, names: Names): Set<number> | null {
  const words = query
    .trim()
    .toLowerCase()
    .split(/\s+/)
    .filter((w) => w !== "");
  if (words.length === 0) return null;
  const out = new Set<number>();
  for (let f = 0; f < names.frameCnt; f++) {
    const frame = names.frame(f)!;
    const text = `${frame.file}:${frame.line} ${frame.function}`.toLowerCase();
    if (words.every((w) => text.includes(w))) out.add(f);
  }
  return out;
}

/**
 * Bytes of all stacks that contain any of the frames; each stack counts once, however many of the
 * frames it contains.
 */
export function bytesThrough(node: TreeNode, frames: Set<number>): number {
  if (frames.has(node.frame)) return node.bytes;
  let sum = 0;
  for (const child of node.children.values()) sum += bytesThrough(child, frames);
  return sum;
}

export interface Box {
  node: TreeNode;
  x: number;
  width: number;
  depth: number;
}

/**
 * Boxes below `focus`, its ancestors above it at full width. Boxes narrower than minWidth are
 * skipped.
 */
export function layoutTree(
  focus: TreeNode,
  width: number,
  minWidth: number,
): { boxes: Box[]; depth: number; hidden: number } {
  const ancestors: TreeNode[] = [];
  for (let node = focus.parent; node; node = node.parent) ancestors.unshift(node);
  const boxes: Box[] = ancestors.map((node, depth) => ({ node, x: 0, width, depth }));
  let deepest = ancestors.length;
  let hidden = 0;
  const todo: Box[] = [{ node: focus, x: 0, width, depth: ancestors.length }];
  while (todo.length > 0) {
    const box = todo.pop()!;
    boxes.push(box);
    deepest = Math.max(deepest, box.depth);
    let x = box.x;
    for (const child of largestFirst(box.node)) {
      const w = box.node.bytes > 0 ? (box.width * child.bytes) / box.node.bytes : 0;
      if (w < minWidth) hidden++;
      else todo.push({ node: child, x, width: w, depth: box.depth + 1 });
      x += w;
    }
  }
  return { boxes, depth: deepest + 1, hidden };
}
