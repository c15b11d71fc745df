// Segments and what lies in them after an event.
import type { Blocks } from "./blocks.ts";
import type { Columns } from "./data.ts";
import { address } from "./format.ts";

export interface Piece {
  /** bytes from the start of the segment */
  offset: number;
  size: number;
  stack: number;
  state: "used" | "waiting";
  /** kept block, or -1 */
  block: number;
}

export interface SegmentRow {
  address: string;
  base: number;
  size: number;
  stream: number;
  pool: number;
  isLarge: boolean;
  isExpandable: boolean;
  pieces: Piece[];
  used: number;
  largestGap: number;
}

export const POOL_UNKNOWN = 65535;

/** Segments that exist after `event`, in address order, with the kept blocks inside them. */
export function segmentsAt(cols: Columns<"segments">, blocks: Blocks, event: number): SegmentRow[] {
  const rows: SegmentRow[] = [];
  for (let i = 0; i < cols.size.length; i++) {
    const begin = cols.begin[i]!;
    const end = cols.flags[i]! & 2 ? Infinity : begin + cols.life[i]!;
    if (begin <= event && event < end) rows.push(makeRow(cols, i));
  }
  rows.sort((a, b) => a.base - b.base);
  for (let b = 0; b < blocks.cnt && blocks.begin[b]! <= event; b++) {
    if (blocks.end[b]! <= event) continue;
    const at = blocks.addressNumber(b);
    const row = rowOf(rows, at);
    if (row)
      row.pieces.push({
        offset: at - row.base,
        size: blocks.rounded(b),
        stack: blocks.stack[b]!,
        state: "used",
        block: b,
      });
  }
  rows.forEach(finishRow);
  return rows;
}

/**
 * The end state as the input recorded it: whole segments, rounded sizes, blocks that wait for a
 * stream.
 */
export function segmentsAtEnd(end: Columns<"end">): SegmentRow[] {
  let next = 0;
  const rows = Array.from(end.seg_size, (size, i) => {
    const row = emptyRow(end.seg_addr_high[i]!, end.seg_addr_low[i]!, size);
    row.stream = end.seg_stream[i]!;
    row.pool = end.seg_pool[i]!;
    setFlags(row, end.seg_flags[i]!);
    for (const last = next + end.seg_blocks[i]!; next < last; next++)
      row.pieces.push({
        offset: end.offset[next]!,
        size: end.size[next]!,
        stack: end.stack[next]!,
        state: end.state[next] === 2 ? "waiting" : "used",
        block: -1,
      });
    return row;
  });
  rows.forEach(finishRow);
  return rows;
}

function emptyRow(high: number, low: number, size: number): SegmentRow {
  return {
    address: address(high, low),
    base: high * 4294967296 + low,
    size,
    stream: 0,
    pool: POOL_UNKNOWN,
    isLarge: false,
    isExpandable: false,
    pieces: [],
    used: 0,
    largestGap: 0,
  };
}

function setFlags(row: SegmentRow, flags: number): void {
  row.isLarge = (flags & 4) !== 0;
  row.isExpandable = (flags & 8) !== 0;
}

function makeRow(cols: Columns<"segments">, i: number): SegmentRow {
  const row = emptyRow(cols.addr_high[i]!, cols.addr_low[i]!, cols.size[i]!);
  row.stream = cols.stream[i]!;
  row.pool = cols.pool[i]!;
  setFlags(row, cols.flags[i]!);
  return row;
}

function rowOf(rows: SegmentRow[], at: number): SegmentRow | null {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const mid = (low + high) >>> 1;
    if (rows[mid]!.base <= at) low = mid + 1;
    else high = mid;
  }
  const row = rows[low - 1];
  return row && at < row.base + row.size ? row : null;
}

function finishRow(row: SegmentRow): void {
  row.pieces.sort((a, b) => a.offset - b.offset);
  let cursor = 0;
  for (const piece of row.pieces) {
    row.largestGap = Math.max(row.largestGap, piece.offset - cursor);
    cursor = Math.max(cursor, piece.offset + piece.size);
    row.used += piece.size;
  }
  row.largestGap = Math.max(row.largestGap, row.size - cursor);
}

export interface SegmentTotals {
  segments: number;
  reserved: number;
  used: number;
  free: number;
  largestGap: number;
}

export function totals(rows: SegmentRow[]): SegmentTotals {
  const out = { segments: rows.length, reserved: 0, used: 0, free: 0, largestGap: 0 };
  for (const row of rows) {
    out.reserved += row.size;
    out.used += row.used;
    out.largestGap = Math.max(out.largestGap, row.largestGap);
  }
  out.free = out.reserved - out.used;
  return out;
}
