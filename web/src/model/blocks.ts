// The blocks that were kept one by one: what is live after an event, search, and the picture of
// blocks over time as a buffer of block numbers that a canvas colours.
import type { Columns } from "./data.ts";
import { address, bytes, count } from "./format.ts";
import type { Names } from "./names.ts";

/** Values of a picture's cells that are no block. */
export const CELL_EMPTY = -1;
export const CELL_REST = -2;

export const BEFORE_TRACE = 1;
export const NEVER_FREED = 2;

export interface BlockInfo {
  index: number;
  begin: number;
  end: number;
  timeUs: number;
  lifeUs: number;
  size: number;
  address: string;
  stack: number;
  beforeTrace: boolean;
  neverFreed: boolean;
}

export class Blocks {
  readonly cnt: number;
  readonly begin: Float64Array;
  /** event of the free; Infinity when it was never freed */
  readonly end: Float64Array;
  readonly size: Float64Array;
  readonly stack: Float64Array;
  private readonly cols: Columns<"blocks">;

  constructor(cols: Columns<"blocks">) {
    this.cols = cols;
    this.cnt = cols.begin.length;
    this.begin = cols.begin;
    this.size = cols.size;
    this.stack = cols.stack;
    this.end = Float64Array.from(cols.begin, (begin, i) =>
      cols.flags[i]! & NEVER_FREED ? Infinity : begin + cols.life[i]!,
    );
  }

  info(i: number): BlockInfo {
    const flags = this.cols.flags[i]!;
    return {
      index: i,
      begin: this.begin[i]!,
      end: this.end[i]!,
      timeUs: this.cols.time[i]!,
      lifeUs: this.cols.life_us[i]!,
      size: this.size[i]!,
      address: this.addressOf(i),
      stack: this.stack[i]!,
      beforeTrace: (flags & BEFORE_TRACE) !== 0,
      neverFreed: (flags & NEVER_FREED) !== 0,
    };
  }

  addressOf(i: number): string {
    return address(this.cols.addr_high[i]!, this.cols.addr_low[i]!);
  }

  /** As a number for sorting and placing; above 2^53 neighbours may become equal. */
  addressNumber(i: number): number {
    return this.cols.addr_high[i]! * 4294967296 + this.cols.addr_low[i]!;
  }

  /** What the allocator took for it. */
  rounded(i: number): number {
    return this.size[i]! + this.cols.slack[i]!;
  }

  /**
   * What it is for, a number into the page's tag_names; 0 (unknown) where the input does not say.
   */
  tag(i: number): number {
    return this.cols.tag[i] ?? 0;
  }

  isLive(i: number, event: number): boolean {
    return this.begin[i]! <= event && event < this.end[i]!;
  }

  /**
   * Blocks whose stack, tag, address or size matches the search words; null when there are no
   * words.
   */
  search(query: string, names: Names, tagNames: string[]): Uint8Array | null {
    const words = query
      .trim()
      .toLowerCase()
      .split(/\s+/)
      .filter((w) => w !== "");
    if (words.length === 0) return null;
    const stackHits = words.map((word) => stackMatches(word, names));
    const found = new Uint8Array(this.cnt);
    for (let i = 0; i < this.cnt; i++) {
      const hit = words.every(
        (word, w) =>
          stackHits[w]![this.stack[i]!] === 1 ||
          sizeMatches(word, this.size[i]!) ||
          (this.cols.tag.length > 0 && tagNames[this.tag(i)]!.includes(word)) ||
          (word.startsWith("0x") && this.addressOf(i).startsWith(word)),
      );
      if (hit) found[i] = 1;
    }
    return found;
  }
}

function stackMatches(word: string, names: Names): Uint8Array {
  const frames = new Uint8Array(names.frameCnt);
  for (let f = 0; f < names.frameCnt; f++) {
    const frame = names.frame(f)!;
    if (`${frame.file}:${frame.line} ${frame.function}`.toLowerCase().includes(word)) frames[f] = 1;
  }
  const out = new Uint8Array(names.stackCnt);
  for (let s = 0; s < names.stackCnt; s++)
    if (names.stackFrames(s).some((f) => frames[f] === 1)) out[s] = 1;
  return out;
}

const UNIT: Record<string, number> = { "": 1, b: 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 };

/** ">20m", "<4k", "512", "512b". */
export function sizeMatches(word: string, size: number): boolean {
  const parts = /^([<>]?)(\d+(?:\.\d+)?)(b|k|m|g)?(?:ib)?$/.exec(word);
  if (!parts) return false;
  const limit = Number(parts[2]) * UNIT[parts[3] ?? ""]!;
  if (parts[1] === ">") return size > limit;
  if (parts[1] === "<") return size < limit;
  return size === limit;
}

export interface Picture {
  width: number;
  height: number;
  /** block number of each cell, row by row from the top; CELL_EMPTY, CELL_REST */
  cells: Int32Array;
}

export interface PictureSpec {
  width: number;
  height: number;
  /** bytes at the upper edge */
  top: number;
  /** per column: the event whose state is drawn, and the true total after it */
  at: Float64Array;
  total: Float64Array;
}

/** Block numbers by the event of their free. */
export function endsInOrder(blocks: Blocks): Uint32Array {
  return Uint32Array.from(blocks.end.keys()).sort((a, b) => blocks.end[a]! - blocks.end[b]!);
}

/**
 * Live blocks stacked in the order of their allocation, as torch's viewer does; blocks that were
 * not kept are one band on top. A column shows the moment at which most was live within it. One
 * pass over the live blocks for each column in which something began or ended; the others repeat
 * their neighbour.
 */
export function stackPicture(blocks: Blocks, ends: Uint32Array, spec: PictureSpec): Picture {
  const { width, height, top, at, total } = spec;
  const cells = new Int32Array(width * height).fill(CELL_EMPTY);
  const perByte = height / top;
  const live = new Int32Array(blocks.cnt);
  const liveEnd = new Float64Array(blocks.cnt);
  const liveHeight = new Float64Array(blocks.cnt);
  let cnt = 0;
  let begin = 0;
  let end = 0;
  for (let x = 0; x < width; x++) {
    const event = at[x]!;
    const seen = begin;
    const ended = end;
    while (end < ends.length && blocks.end[ends[end]!]! <= event) end++;
    for (; begin < blocks.cnt && blocks.begin[begin]! <= event; begin++) {
      if (blocks.end[begin]! <= event) continue;
      live[cnt] = begin;
      liveEnd[cnt] = blocks.end[begin]!;
      liveHeight[cnt++] = blocks.size[begin]! * perByte;
    }
    if (x > 0 && begin === seen && end === ended && total[x] === total[x - 1]) {
      copyColumn(cells, width, height, x);
      continue;
    }
    let kept = 0;
    let y = 0;
    let row = 0;
    for (let i = 0; i < cnt; i++) {
      if (liveEnd[i]! <= event) continue;
      const b = live[i]!;
      y += liveHeight[i]!;
      live[kept] = b;
      liveEnd[kept] = liveEnd[i]!;
      liveHeight[kept++] = liveHeight[i]!;
      // A cell belongs to the block that covers its middle: so each thin block gets its fair share
      // of the cells.
      for (; row + 0.5 < y && row < height; row++) cells[(height - 1 - row) * width + x] = b;
    }
    cnt = kept;
    const whole = total[x]! * perByte;
    for (; row + 0.5 < whole && row < height; row++)
      cells[(height - 1 - row) * width + x] = CELL_REST;
  }
  return { width, height, cells };
}

function copyColumn(cells: Int32Array, width: number, height: number, x: number): void {
  for (let row = 0, i = x; row < height; row++, i += width) cells[i] = cells[i - 1]!;
}

/** Where each block lies when the address space is drawn without the holes between segments. */
export interface AddressMap {
  offset: Float64Array;
  total: number;
}

export function compactAddresses(blocks: Blocks, segments: Columns<"segments"> | null): AddressMap {
  const spans =
    segments && segments.size.length > 0
      ? Array.from(
          segments.size,
          (size, i) => [segments.addr_high[i]! * 4294967296 + segments.addr_low[i]!, size] as const,
        )
      : Array.from(blocks.size, (size, i) => [blocks.addressNumber(i), size] as const);
  const merged = mergeSpans(spans);
  const offset = new Float64Array(blocks.cnt).fill(-1);
  for (let i = 0; i < blocks.cnt; i++) {
    const a = blocks.addressNumber(i);
    const span = findSpan(merged.spans, a);
    if (span) offset[i] = span.offset + (a - span.begin);
  }
  return { offset, total: merged.total };
}

interface Span {
  begin: number;
  end: number;
  offset: number;
}

function mergeSpans(input: (readonly [number, number])[]): { spans: Span[]; total: number } {
  const sorted = input.slice().sort((a, b) => a[0] - b[0]);
  const spans: Span[] = [];
  for (const [begin, size] of sorted) {
    const last = spans[spans.length - 1];
    if (last && begin <= last.end) last.end = Math.max(last.end, begin + size);
    else spans.push({ begin, end: begin + size, offset: 0 });
  }
  let total = 0;
  for (const span of spans) {
    span.offset = total;
    total += span.end - span.begin;
  }
  return { spans, total };
}

function findSpan(spans: Span[], at: number): Span | null {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const mid = (low + high) >>> 1;
    if (spans[mid]!.end <= at) low = mid + 1;
    else high = mid;
  }
  const span = spans[low];
  return span && span.begin <= at ? span : null;
}

/** Each block at its address. A column shows the moment at which most was live within it. */
export function addressPicture(blocks: Blocks, map: AddressMap, spec: PictureSpec): Picture {
  const { width, height, top, at } = spec;
  const cells = new Int32Array(width * height).fill(CELL_EMPTY);
  const perByte = height / top;
  for (let b = 0; b < blocks.cnt; b++) {
    if (map.offset[b]! < 0) continue;
    const left = firstColumn(at, blocks.begin[b]!);
    const right = firstColumn(at, blocks.end[b]!);
    if (left >= right) continue;
    const low = Math.max(0, Math.floor(map.offset[b]! * perByte));
    const high = Math.min(
      height,
      Math.max(low + 1, Math.round((map.offset[b]! + blocks.size[b]!) * perByte)),
    );
    for (let row = low; row < high; row++)
      cells.fill(b, (height - 1 - row) * width + left, (height - 1 - row) * width + right);
  }
  return { width, height, cells };
}

/** First column whose event is not before `event`; the columns' events ascend. */
function firstColumn(at: Float64Array, event: number): number {
  let low = 0;
  let high = at.length;
  while (low < high) {
    const mid = (low + high) >>> 1;
    if (at[mid]! < event) low = mid + 1;
    else high = mid;
  }
  return low;
}

export function describeKept(kept: number, total: number, largestLeft: number): string {
  if (kept === total) return `All ${count(total)} blocks are drawn one by one.`;
  return (
    `${count(kept)} of ${count(total)} blocks are drawn one by one: the largest, and those that ` +
    `fill the most area. No block above ${bytes(largestLeft)} is left out. ` +
    "The grey band is all the others together, exact in sum."
  );
}
