// The curve of live and reserved bytes, reduced to any number of pixel columns. Each column keeps
// the true lowest and highest value of everything that touches it.
import { Axis, lowerBound } from "./axis.ts";
import type { Columns } from "./data.ts";

/** In `Folded.at`: the process had not started, and there were no blocks from before the trace. */
export const NOT_BEGUN = -2;

export interface Folded {
  /** left edge of each column */
  x: Float64Array;
  max: Float64Array;
  min: Float64Array;
  /** event after which the column's maximum held; NOT_BEGUN where there are no values */
  at: Float64Array;
  reserved: Float64Array | null;
}

export interface Point {
  min: number;
  max: number;
  reserved: number | null;
  /** the events behind min and max */
  from: number;
  to: number;
}

export class Curve {
  readonly cols: Columns<"curve">;
  readonly k: number;
  readonly base: number;
  readonly events: number;
  private readonly eventStart: Float64Array;

  constructor(cols: Columns<"curve">, binEvents: number, base: number, events: number) {
    this.cols = cols;
    this.k = binEvents;
    this.base = base;
    this.events = events;
    this.eventStart = Float64Array.from(cols.time, (_, i) => i * binEvents);
  }

  get hasReserved(): boolean {
    return this.cols.reserved_max.length > 0;
  }

  get bins(): number {
    return this.cols.time.length;
  }

  /** Where the bins begin on an axis. */
  positions(axis: Axis): Float64Array {
    return axis.kind === "event" ? this.eventStart : this.cols.time.map((us) => us / 1e6);
  }

  /** Live bytes after the last event of the bin before `bin`. */
  private entry(bin: number): number {
    return bin > 0 ? this.cols.last[bin - 1]! : this.base;
  }

  private reservedEntry(bin: number): number {
    return bin > 0 ? this.cols.reserved_last[bin - 1]! : 0;
  }

  fold(axis: Axis, x0: number, x1: number, width: number): Folded {
    const n = Math.max(1, Math.floor(width));
    const starts = axis.kind === "event" ? this.eventStart : this.cols.time;
    const scale = axis.kind === "event" ? 1 : 1e6;
    const make = (): Float64Array => new Float64Array(n);
    const out: Folded = {
      x: make(),
      max: make(),
      min: make(),
      at: make(),
      reserved: this.hasReserved ? make() : null,
    };
    let low = lowerBound(starts, x0 * scale);
    for (let i = 0; i < n; i++) {
      const left = (x0 + ((x1 - x0) * i) / n) * scale;
      const right = (x0 + ((x1 - x0) * (i + 1)) / n) * scale;
      while (low < starts.length && starts[low]! < left) low++;
      let high = low;
      // The end of the run belongs to the last column.
      const isEnd = i === n - 1 && x1 >= axis.max;
      while (high < starts.length && (starts[high]! < right || isEnd)) high++;
      out.x[i] = left / scale;
      if (high === 0 && starts.length > 0) leaveEmpty(out, i);
      else this.foldColumn(out, i, low, high);
      low = high;
    }
    return out;
  }

  private foldColumn(out: Folded, i: number, low: number, high: number): void {
    // A bin of several events reaches past its start, so the one before this column counts too.
    const first = this.k > 1 ? Math.max(low - 1, 0) : low;
    const { max, min, at, reserved_max } = this.cols;
    let top = this.entry(first);
    let bottom = top;
    let event = first * this.k - 1;
    let reserved = this.hasReserved ? this.reservedEntry(first) : 0;
    for (let b = first; b < high; b++) {
      if (max[b]! > top) {
        top = max[b]!;
        event = b * this.k + at[b]!;
      }
      if (min[b]! < bottom) bottom = min[b]!;
      if (this.hasReserved && reserved_max[b]! > reserved) reserved = reserved_max[b]!;
    }
    out.max[i] = top;
    out.min[i] = bottom;
    out.at[i] = event;
    if (out.reserved) out.reserved[i] = reserved;
  }

  /** Figures at one event: exact when a bin is one event, else the true bounds of its bin. */
  pointAt(event: number): Point {
    if (this.bins === 0) return { min: this.base, max: this.base, reserved: null, from: 0, to: 0 };
    const bin = Math.max(0, Math.min(Math.floor(event / this.k), this.bins - 1));
    const exact = this.k === 1;
    return {
      min: exact ? this.cols.last[bin]! : this.cols.min[bin]!,
      max: exact ? this.cols.last[bin]! : this.cols.max[bin]!,
      reserved: this.hasReserved
        ? (exact ? this.cols.reserved_last : this.cols.reserved_max)[bin]!
        : null,
      from: bin * this.k,
      to: Math.min((bin + 1) * this.k, this.events) - 1,
    };
  }

  /** The highest point of a range of events. */
  peak(from: number, to: number): { event: number; bytes: number } {
    let best = { event: from, bytes: -1 };
    const last = Math.min(Math.floor(to / this.k), this.bins - 1);
    for (let b = Math.max(0, Math.floor(from / this.k)); b <= last; b++)
      if (this.cols.max[b]! > best.bytes)
        best = { event: b * this.k + this.cols.at[b]!, bytes: this.cols.max[b]! };
    return best;
  }
}

function leaveEmpty(out: Folded, i: number): void {
  out.max[i] = out.min[i] = NaN;
  out.at[i] = NOT_BEGUN;
  if (out.reserved) out.reserved[i] = NaN;
}
