// Two inputs compared line by line.
import type { SiteRow } from "./sites.ts";

export interface DiffRow {
  frame: number;
  label: string;
  place: string;
  before: SiteRow | null;
  after: SiteRow | null;
  live: number;
  peak: number;
  /** of what it held at the peak of the device; over all lines this is the change of the peak */
  atPeak: number;
  allocs: number;
}

/** What a comparison begins with. */
export interface DiffLead {
  /** change of the peak; null when either input has no peak */
  peak: number | null;
  /** the line that changed most in the direction of the peak */
  line: DiffRow | null;
  /** that line is nearly all of the change */
  isWhole: boolean;
}

const NEARLY_ALL = 0.9;

export function diffLead(rows: DiffRow[], before: number | null, after: number | null): DiffLead {
  if (before === null || after === null) return { peak: null, line: null, isWhole: false };
  const peak = after - before;
  const along = (row: DiffRow): number => row.atPeak * Math.sign(peak);
  const line = rows.reduce<DiffRow | null>(
    (best, row) => (along(row) > (best ? along(best) : 0) ? row : best),
    null,
  );
  return { peak, line, isWhole: line !== null && along(line) >= NEARLY_ALL * Math.abs(peak) };
}

/** Lines of both, largest change of the live bytes first. Both inputs share one table of names. */
export function diffRows(before: SiteRow[], after: SiteRow[]): DiffRow[] {
  const old = new Map(before.map((row) => [row.frame, row]));
  const rows: DiffRow[] = [];
  const add = (a: SiteRow | null, b: SiteRow | null): void => {
    const any = (b ?? a)!;
    rows.push({
      frame: any.frame,
      label: any.label,
      place: any.place,
      before: a,
      after: b,
      live: (b?.live ?? 0) - (a?.live ?? 0),
      peak: (b?.peak ?? 0) - (a?.peak ?? 0),
      atPeak: (b?.atPeak ?? 0) - (a?.atPeak ?? 0),
      allocs: (b?.allocs ?? 0) - (a?.allocs ?? 0),
    });
  };
  for (const row of after) {
    add(old.get(row.frame) ?? null, row);
    old.delete(row.frame);
  }
  for (const row of old.values()) add(row, null);
  return rows.sort(
    (a, b) => Math.abs(b.live) - Math.abs(a.live) || Math.abs(b.peak) - Math.abs(a.peak),
  );
}
