// Live bytes by group along the visible columns: from the blocks where all were kept, which is exact at
// every zoom, else from the columns that C computed.
import { lowerBound } from "./axis.ts";
import type { Blocks } from "./blocks.ts";
import type { Columns } from "./data.ts";
import type { LaneMeta } from "./meta.ts";
import type { Names } from "./names.ts";

export type GroupKind = "line" | "file" | "stream";

/** One row of values for each group, one value for each column. */
export type GroupRows = Float64Array[];

function makeRows(groups: number, columns: number): GroupRows {
  return Array.from({ length: groups }, () => new Float64Array(columns));
}

/** Group of each stack; what has no group of its own belongs to the last. */
export function groupsOfStacks(lane: LaneMeta, names: Names, kind: "line" | "file"): Uint8Array {
  const groups = lane.groups[kind];
  const byKey = new Map<string | number, number>();
  groups.forEach((g, i) => byKey.set(kind === "line" ? (g.frame ?? -1) : g.label, i));
  const out = new Uint8Array(names.stackCnt);
  for (let s = 0; s < names.stackCnt; s++) {
    const site = names.siteOf(s);
    const frame = names.frame(site);
    const key = kind === "line" ? site : (frame && frame.file !== "" ? frame.file : (frame?.function ?? ""));
    out[s] = byKey.get(key) ?? groups.length - 1;
  }
  return out;
}

/** Exact: the state after each event of `at`, which must ascend. */
export function rowsFromBlocks(blocks: Blocks, order: Uint32Array, groupOf: Uint8Array, groups: number, at: Float64Array): GroupRows {
  const rows = makeRows(groups, at.length);
  const now = new Float64Array(groups);
  let begin = 0;
  let end = 0;
  for (let x = 0; x < at.length; x++) {
    const event = at[x]!;
    for (; begin < blocks.cnt && blocks.begin[begin]! <= event; begin++)
      now[groupOf[blocks.stack[begin]!]!]! += blocks.size[begin]!;
    for (; end < order.length && blocks.end[order[end]!]! <= event; end++)
      now[groupOf[blocks.stack[order[end]!]!]!]! -= blocks.size[order[end]!]!;
    for (let g = 0; g < groups; g++) rows[g]![x] = now[g]!;
  }
  return rows;
}

/** The column of C whose event lies nearest before each event of `at`. */
export function rowsFromColumns(cols: Columns<"groups">, kind: GroupKind, groups: number, at: Float64Array): GroupRows {
  const values = cols[kind];
  const n = cols.event.length;
  const rows = makeRows(groups, at.length);
  for (let x = 0; x < at.length; x++) {
    const column = Math.min(lowerBound(cols.event, at[x]!), n - 1);
    for (let g = 0; g < groups && n > 0; g++) rows[g]![x] = values[g * n + column]!;
  }
  return rows;
}
