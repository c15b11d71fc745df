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
    if (row) row.pieces.push({ offset: at - row.base, size: blocks.size[b]!, stack: blocks.stack[b]!, state: "used", block: b });
  }
  rows.forEach(finishRow);
  return rows;
}

/** The end state as the input recorded it: rounded sizes, and blocks that wait for a stream. */
export function segmentsAtEnd(cols: Columns<"segments">, end: Columns<"end">, lastEvent: number): SegmentRow[] {
  const rows: SegmentRow[] = [];
  for (let i = 0; i < cols.size.length; i++)
    if (cols.flags[i]! & 2 && cols.begin[i]! <= lastEvent) rows.push(makeRow(cols, i));
  rows.sort((a, b) => a.base - b.base);
  for (let i = 0; i < end.segment.length; i++) {
    const row = rows[end.segment[i]!];
    if (!row || end.state[i] === 0) continue;
    row.pieces.push({
      offset: end.offset[i]!, size: end.size[i]!, stack: end.stack[i]!,
      state: end.state[i] === 2 ? "waiting" : "used", block: -1,
    });
  }
  rows.forEach(finishRow);
  return rows;
}

function makeRow(cols: Columns<"segments">, i: number): SegmentRow {
  const high = cols.addr_high[i]!;
  const low = cols.addr_low[i]!;
  return {
    address: address(high, low),
    base: high * 4294967296 + low,
    size: cols.size[i]!,
    stream: cols.stream[i]!,
    pool: cols.pool[i]!,
    isLarge: (cols.flags[i]! & 4) !== 0,
    isExpandable: (cols.flags[i]! & 8) !== 0,
    pieces: [],
    used: 0,
    largestGap: 0,
  };
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
