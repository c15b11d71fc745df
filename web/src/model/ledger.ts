// The ledger of a card: the value of each row at each reading. A reading is valid until the next
// one.
import { lowerBound } from "./axis.ts";
import type { Columns } from "./data.ts";
import type { LedgerMeta } from "./meta.ts";

export class Ledger {
  readonly meta: LedgerMeta;
  private readonly cols: Columns<"ledger">;

  constructor(meta: LedgerMeta, cols: Columns<"ledger">) {
    this.meta = meta;
    this.cols = cols;
  }

  get moments(): number {
    return this.cols.time.length;
  }

  time(moment: number): number {
    return this.cols.time[moment]!;
  }

  /** In use on the card; null = not known. */
  used(moment: number): number | null {
    return known(this.cols.used[moment]!);
  }

  /** The highest of the readings that a moment summarises. */
  usedMax(moment: number): number {
    return this.cols.used_max[moment]!;
  }

  bytes(row: number, moment: number): number | null {
    return known(this.cols.bytes[row * this.moments + moment]!);
  }

  /** The highest a row ever was; null when it was never known. */
  highest(row: number): number | null {
    let best: number | null = null;
    for (let m = 0; m < this.moments; m++) {
      const value = this.bytes(row, m);
      if (value !== null && (best === null || value > best)) best = value;
    }
    return best;
  }

  /** The moment valid at a time; before the first moment, the first one. */
  at(us: number): number {
    return Math.max(0, lowerBound(this.cols.time, us + 0.5) - 1);
  }

  /** For each of these intervals, the fullest moment that is valid in it; -1 before the first. */
  fold(edges: Float64Array): Int32Array {
    const out = new Int32Array(edges.length - 1);
    let next = lowerBound(this.cols.time, edges[0]! + 0.5);
    for (let i = 0; i < out.length; i++) {
      let best = next - 1;
      for (; next < this.moments && this.time(next) < edges[i + 1]!; next++)
        if (best < 0 || this.usedMax(next) > this.usedMax(best)) best = next;
      out[i] = best;
    }
    return out;
  }

  /** The most that was ever in use on the card. */
  mostUsed(): number {
    let most = 0;
    for (let m = 0; m < this.moments; m++) most = Math.max(most, this.usedMax(m));
    return most;
  }
}

/** The page stores each number plus 1, so that 0 can mean "not known". */
function known(written: number): number | null {
  return written === 0 ? null : written - 1;
}
