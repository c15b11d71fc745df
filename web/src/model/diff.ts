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
  allocs: number;
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
