// The two kinds of x axis: time, or event numbers as in torch's viewer.
// Every view works on event numbers; only this file knows what an x is.

export type AxisKind = "time" | "event";

export interface Range {
  /** first event shown */
  from: number;
  /** last event shown; the state "after" this event closes the range */
  to: number;
}

/** First index whose value is not below x, in an ascending column. */
export function lowerBound(column: Float64Array, x: number): number {
  let low = 0;
  let high = column.length;
  while (low < high) {
    const mid = (low + high) >>> 1;
    if (column[mid]! < x) low = mid + 1;
    else high = mid;
  }
  return low;
}

export class Axis {
  readonly kind: AxisKind;
  readonly events: number;
  private readonly time: Float64Array;
  private readonly k: number;
  private readonly lastUs: number;

  constructor(
    kind: AxisKind,
    binTime: Float64Array,
    binEvents: number,
    events: number,
    lastUs: number,
  ) {
    this.kind = kind;
    this.time = binTime;
    this.k = binEvents;
    this.events = events;
    this.lastUs = lastUs;
  }

  /** Microseconds after the start; the events of a bin are spaced evenly in it. */
  timeOf(event: number): number {
    if (this.time.length === 0) return 0;
    const bin = Math.min(Math.floor(event / this.k), this.time.length - 1);
    const begin = this.time[Math.max(bin, 0)]!;
    const next = bin + 1 < this.time.length ? this.time[bin + 1]! : this.lastUs;
    return begin + ((event - bin * this.k) / this.k) * (next - begin) * (this.k > 1 ? 1 : 0);
  }

  /** The last event that happened at or before this time. */
  eventAtTime(us: number): number {
    const after = lowerBound(this.time, us + 0.5);
    if (after === 0) return 0;
    const bin = after - 1;
    if (this.k === 1) return bin;
    const begin = this.time[bin]!;
    const next = bin + 1 < this.time.length ? this.time[bin + 1]! : this.lastUs;
    const share = next > begin ? Math.min((us - begin) / (next - begin), 1) : 0;
    return Math.min(Math.floor(bin * this.k + share * this.k), this.events - 1);
  }

  x(event: number): number {
    return this.kind === "event" ? event : this.timeOf(event) / 1e6;
  }

  xOfTime(us: number): number {
    return this.kind === "event" ? this.eventAtTime(us) : us / 1e6;
  }

  timeOfX(x: number): number {
    return this.kind === "event" ? this.timeOf(x) : x * 1e6;
  }

  event(x: number): number {
    const event = this.kind === "event" ? Math.floor(x) : this.eventAtTime(x * 1e6);
    return Math.max(0, Math.min(event, this.events - 1));
  }

  get min(): number {
    return 0;
  }

  get max(): number {
    const end = this.kind === "event" ? this.events : this.lastUs / 1e6;
    return end > 0 ? end : 1;
  }
}
