// Readings of one counter over time. A reading is taken as valid until the next one.
import { lowerBound } from "./axis.ts";
import type { Columns } from "./data.ts";

/** The name that src/page/page_samples.c gives to the device's own figure. */
export const USED_ON_DEVICE = "used on the device";

export class Readings {
  readonly time: Float64Array;
  readonly value: Float64Array;

  constructor(time: Float64Array, value: Float64Array) {
    this.time = time;
    this.value = value;
  }

  /** The newest reading at this time; null before the first. */
  at(us: number): number | null {
    const i = lowerBound(this.time, us + 0.5) - 1;
    return i < 0 ? null : this.value[i]!;
  }

  /** The highest reading that is valid at any time from `from` to `to`; NaN before the first. */
  highest(from: number, to: number): number {
    let best = this.at(from) ?? NaN;
    for (let i = lowerBound(this.time, from); i < this.time.length && this.time[i]! < to; i++)
      if (!(best >= this.value[i]!)) best = this.value[i]!;
    return best;
  }
}

export function readingsOf(cols: Columns<"counters">, series: number): Readings {
  const rows = [...cols.series.keys()].filter((i) => cols.series[i] === series);
  return new Readings(
    Float64Array.from(rows, (i) => cols.time[i]!),
    Float64Array.from(rows, (i) => cols.value[i]!),
  );
}
