// Several lanes beside each other: skew, and the first moment at which one left the others.
import type { Columns } from "./data.ts";

export interface HeatMap {
  bins: number;
  rows: Float64Array[];
  max: number;
}

export interface Divergence {
  bin: number;
  row: number;
  bytes: number;
  median: number;
}

export function heatMap(sections: (Columns<"heat"> | null)[], bins: number): HeatMap {
  const rows = sections.map((s) => s?.max ?? new Float64Array(bins));
  let max = 0;
  for (const row of rows) for (const value of row) if (value > max) max = value;
  return { bins, rows, max };
}

export function median(values: number[]): number {
  const sorted = values.slice().sort((a, b) => a - b);
  const mid = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[mid]! : (sorted[mid - 1]! + sorted[mid]!) / 2;
}

/** Highest less lowest of the rows' highest points, as a share of the highest. */
export function skew(map: HeatMap): number {
  const peaks = map.rows.map((row) => row.reduce((a, b) => Math.max(a, b), 0));
  const top = Math.max(...peaks);
  return top > 0 ? (top - Math.min(...peaks)) / top : 0;
}

/** A tenth of the highest point apart from the median of all, from then on for three bins. */
export function firstDivergence(map: HeatMap): Divergence | null {
  if (map.rows.length < 2) return null;
  const limit = map.max / 10;
  const held = map.rows.map(() => 0);
  for (let bin = 0; bin < map.bins; bin++) {
    const middle = median(map.rows.map((row) => row[bin]!));
    for (let r = 0; r < map.rows.length; r++) {
      const off = Math.abs(map.rows[r]![bin]! - middle);
      held[r] = off > limit ? held[r]! + 1 : 0;
      if (held[r] === 3) return { bin: bin - 2, row: r, bytes: map.rows[r]![bin - 2]!, median: middle };
    }
  }
  return null;
}
