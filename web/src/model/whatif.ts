// What other allocator settings would have reserved: curves in bins of equally many events, each
// with its highest value.
import type { Columns } from "./data.ts";
import type { WhatifMeta } from "./meta.ts";

/** Above this many times the recorded peak a curve is cut: it would flatten the others. */
const TALLEST = 2;

export class Whatif {
  readonly meta: WhatifMeta;
  private readonly cols: Columns<"whatif">;
  private readonly events: number;

  constructor(meta: WhatifMeta, cols: Columns<"whatif">, events: number) {
    this.meta = meta;
    this.cols = cols;
    this.events = Math.max(1, events);
  }

  get bins(): number {
    return this.cols.event.length;
  }

  binOf(event: number): number {
    const bin = Math.floor((event * this.bins) / this.events);
    return Math.max(0, Math.min(bin, this.bins - 1));
  }

  /** The highest of some bins, the last one included; NaN where a request had failed before. */
  highest(curve: number, from: number, to: number): number {
    let best = NaN;
    for (let bin = from; bin <= Math.max(from, to); bin++) {
      const written = this.cols.reserved[curve * this.bins + bin]!;
      if (written > 0 && !(written - 1 <= best)) best = written - 1;
    }
    return best;
  }

  /** Top of the axis. */
  top(): number {
    const { curves, floor_bytes, limit_bytes } = this.meta;
    const recorded = curves[0]!.peak_bytes;
    const tallest = Math.max(...curves.map((c) => c.peak_bytes));
    const most = Math.max(Math.min(tallest, TALLEST * recorded), floor_bytes);
    const isNear = limit_bytes !== null && limit_bytes < TALLEST * most;
    return Math.max(1, isNear ? Math.max(most, limit_bytes) : most) * 1.08;
  }

  /** The last bin before a request failed; null where none did. */
  lastOf(curve: number): number | null {
    const at = this.cols.reserved.subarray(curve * this.bins, (curve + 1) * this.bins).indexOf(0);
    const fits = this.meta.rows[this.meta.curves[curve]!.row]!.fits;
    return fits ? null : (at < 0 ? this.bins : at) - 1;
  }

  eventOf(bin: number): number {
    return this.cols.event[bin]!;
  }

  /** Rows that differ from the recorded one, which is the first. */
  differing(): number[] {
    return [...this.meta.rows.keys()].filter((i) => i === 0 || !this.isSame(i));
  }

  /** Settings that change nothing. */
  same(): string[] {
    return this.meta.rows.filter((_, i) => i > 0 && this.isSame(i)).map((row) => row.name);
  }

  private isSame(row: number): boolean {
    const [a, b] = [this.meta.rows[0]!, this.meta.rows[row]!];
    const keys = ["curve", "fits", "peak_bytes", "waste_bytes", "retries", "driver_calls"] as const;
    return keys.every((key) => a[key] === b[key]);
  }

  /** "as recorded (defaults) and 9 more". */
  nameOf(curve: number): string {
    const { row, also } = this.meta.curves[curve]!;
    return `${this.meta.rows[row]!.name}${also > 0 ? ` and ${also} more` : ""}`;
  }
}
