// Several lanes compared: skew, and the first moment at which one diverged from the others.
import type { Columns } from "./data.ts";

export interface HeatMap {
  bins: number;
  rows: Float64Array[];
  /** of all cells: the ends of the colour scale */
  min: number;
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
  let min = Infinity;
  for (const row of rows)
    for (const value of row) {
      if (value > max) max = value;
      if (value < min) min = value;
    }
  return { bins, rows, min: Math.min(min, max), max };
}

export type RowOrder = "named" | "peak" | "apart";

/**
 * Rows in the order they are drawn: as named, the highest peak first, or the farthest from the
 * median of all first.
 */
export function rowOrder(map: HeatMap, order: RowOrder): number[] {
  const rows = [...map.rows.keys()];
  if (order === "named") return rows;
  const value =
    order === "peak"
      ? map.rows.map((row) => row.reduce((a, b) => Math.max(a, b), 0))
      : distances(map);
  return rows.sort((a, b) => value[b]! - value[a]! || a - b);
}

/** Each row's distance from the median row, summed over the bins. */
function distances(map: HeatMap): number[] {
  const out = map.rows.map(() => 0);
  for (let bin = 0; bin < map.bins; bin++) {
    const middle = median(map.rows.map((row) => row[bin]!));
    map.rows.forEach((row, r) => {
      out[r]! += Math.abs(row[bin]! - middle);
    });
  }
  return out;
}

export function median(values: number[]): number {
  const sorted = values.slice().sort((a, b) => a - b);
  const mid = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[mid]! : (sorted[mid - 1]! + sorted[mid]!) / 2;
}

/** The range of the rows' highest points (highest minus lowest), as a share of the highest. */
export function skew(map: HeatMap): number {
  const peaks = map.rows.map((row) => row.reduce((a, b) => Math.max(a, b), 0));
  const top = Math.max(...peaks);
  return top > 0 ? (top - Math.min(...peaks)) / top : 0;
}

/**
 * Diverged: at least a tenth of the highest point away from the median of all, for three bins in a
 * row. Needs three rows: with two, neither is the outlier.
 */
export function firstDivergence(map: HeatMap): Divergence | null {
  if (map.rows.length < 3) return null;
  const limit = map.max / 10;
  const held = map.rows.map(() => 0);
  for (let bin = 0; bin < map.bins; bin++) {
    const middle = median(map.rows.map((row) => row[bin]!));
    for (let r = 0; r < map.rows.length; r++) {
      const off = Math.abs(map.rows[r]![bin]! - middle);
      held[r] = off > limit ? held[r]! + 1 : 0;
      if (held[r] === 3)
        return { bin: bin - 2, row: r, bytes: map.rows[r]![bin - 2]!, median: middle };
    }
  }
  return null;
}

/** The first bin from which two rows stay a tenth of the highest point apart for three bins. */
export function firstGap(map: HeatMap): number | null {
  const [a, b] = map.rows;
  let held = 0;
  for (let bin = 0; a && b && bin < map.bins; bin++) {
    held = Math.abs(a[bin]! - b[bin]!) > map.max / 10 ? held + 1 : 0;
    if (held === 3) return bin - 2;
  }
  return null;
}

/**
 * Names without their common prefix and suffix: "a/rank0.slog", "a/rank1.slog" become "rank0",
 * "rank1".
 */
export function withoutCommonEnds(names: string[]): string[] {
  const [first] = names;
  if (first === undefined || names.length < 2) return names;
  let head = 0;
  while (head < first.length && names.every((n) => n[head] === first[head])) head++;
  let tail = 0;
  const room = Math.min(...names.map((n) => n.length)) - head;
  while (
    tail < room &&
    names.every((n) => n[n.length - 1 - tail] === first[first.length - 1 - tail])
  )
    tail++;
  // Whole words only.
  while (head > 0 && /[A-Za-z0-9]/.test(first[head - 1]!)) head--;
  while (tail > 0 && /[A-Za-z0-9]/.test(first[first.length - tail]!)) tail--;
  return names.map((n) => n.slice(head, n.length - tail) || n);
}
