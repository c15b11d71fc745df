// Live bytes by group along the visible columns: from the blocks where all were kept, which is
// exact at every zoom, else from the columns that C computed.
import { lowerBound } from "./axis.ts";
import type { Blocks } from "./blocks.ts";
import { NOT_BEGUN } from "./curve.ts";
import type { Columns } from "./data.ts";
import type { LaneMeta } from "./meta.ts";
import type { Names } from "./names.ts";

export type GroupKind = keyof LaneMeta["groups"];

/** One row of values for each group, one value for each column. */
export type GroupRows = Float64Array[];

function makeRows(groups: number, columns: number): GroupRows {
  return Array.from({ length: groups }, () => new Float64Array(columns));
}

/** The name of the group that a stack belongs to. */
const KEY_OF_STACK: Record<
  "line" | "file" | "module",
  (names: Names, stack: number) => string | number
> = {
  line: (names, stack) => names.siteOf(stack),
  file: (names, stack) => {
    const frame = names.frame(names.siteOf(stack));
    return frame && frame.file !== "" ? frame.file : (frame?.function ?? "");
  },
  module: (names, stack) => names.moduleOf(stack) ?? OUTSIDE_MODULES,
};

/** The name that src/page/page_groups.c gives to what ran outside any module. */
const OUTSIDE_MODULES = "outside any module";

/**
 * Whether the split can be computed from the blocks of the page, which is exact at every event.
 * Streams are not kept with blocks, and a stack that was reduced to its line has lost its module.
 */
export function isExact(lane: LaneMeta, kind: GroupKind): boolean {
  if (kind === "stream" || lane.blocks_kept !== lane.blocks_total) return false;
  return kind !== "module" || lane.stacks_kept === lane.stacks_total;
}

/** Group of each block; what has no group of its own belongs to the last. */
export function groupsOfBlocks(
  blocks: Blocks,
  lane: LaneMeta,
  names: Names,
  tagNames: string[],
  kind: Exclude<GroupKind, "stream">,
): Uint8Array {
  const groups = lane.groups[kind];
  const byKey = new Map<string | number, number>();
  groups.forEach((g, i) => byKey.set(kind === "line" ? (g.frame ?? -1) : g.label, i));
  const groupOf = (key: string | number): number => byKey.get(key) ?? groups.length - 1;
  if (kind === "tag")
    return Uint8Array.from({ length: blocks.cnt }, (_, b) =>
      groupOf(tagNames[blocks.tag(b)] ?? ""),
    );
  const ofStack = Uint8Array.from({ length: names.stackCnt }, (_, s) =>
    groupOf(KEY_OF_STACK[kind](names, s)),
  );
  return Uint8Array.from(blocks.stack, (s) => ofStack[s]!);
}

/** Exact: the state after each event of `at`, which must ascend. */
export function rowsFromBlocks(
  blocks: Blocks,
  order: Uint32Array,
  groupOf: Uint8Array,
  groups: number,
  at: Float64Array,
): GroupRows {
  const rows = makeRows(groups, at.length);
  const now = new Float64Array(groups);
  let begin = 0;
  let end = 0;
  for (let x = 0; x < at.length; x++) {
    const event = at[x]!;
    for (; begin < blocks.cnt && blocks.begin[begin]! <= event; begin++)
      now[groupOf[begin]!]! += blocks.size[begin]!;
    for (; end < order.length && blocks.end[order[end]!]! <= event; end++)
      now[groupOf[order[end]!]!]! -= blocks.size[order[end]!]!;
    for (let g = 0; g < groups; g++) rows[g]![x] = now[g]!;
  }
  return rows;
}

/** The column of C whose event lies nearest before each event of `at`. */
export function rowsFromColumns(
  cols: Columns<"groups">,
  kind: GroupKind,
  groups: number,
  at: Float64Array,
): GroupRows {
  const values = cols[kind];
  const n = cols.event.length;
  const rows = makeRows(groups, at.length);
  for (let x = 0; x < at.length; x++) {
    if (at[x] === NOT_BEGUN) continue;
    const column = Math.min(lowerBound(cols.event, at[x]!), n - 1);
    for (let g = 0; g < groups && n > 0; g++) rows[g]![x] = values[g * n + column]!;
  }
  return rows;
}
