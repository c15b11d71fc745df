// The table of user lines: whole-run figures from C, figures of the selected range from the live
// sets.
import type { Range } from "./axis.ts";
import type { Columns } from "./data.ts";
import * as fmt from "./format.ts";
import type { LiveSets } from "./live.ts";
import type { Names } from "./names.ts";

export interface SiteRow {
  frame: number;
  label: string;
  place: string;
  live: number;
  blocks: number;
  peak: number;
  atPeak: number;
  growth: number;
  allocs: number;
  allocBytes: number;
  medianLifeUs: number | null;
  /** what most of its bytes are for; null where the input does not say */
  tag: string | null;
  /** all that its blocks are for */
  tags: string[];
}

/** Figures over the whole run. */
export function siteRows(cols: Columns<"sites">, names: Names, tagNames: string[]): SiteRow[] {
  return Array.from(cols.frame, (frame, i) => ({
    frame,
    label: names.label(frame),
    place: names.place(frame),
    live: cols.live[i]!,
    blocks: cols.blocks[i]!,
    peak: cols.peak[i]!,
    atPeak: cols.at_peak[i]!,
    growth: 0,
    allocs: cols.allocs[i]!,
    allocBytes: cols.alloc_bytes[i]!,
    medianLifeUs: cols.freed[i]! > 0 ? cols.median_life_us[i]! : null,
    tag: tagNames[cols.tag[i] ?? -1] ?? null,
    tags: tagNames.filter((_, bit) => ((cols.tags[i] ?? 0) >> bit) & 1),
  }));
}

/**
 * The same rows with live, blocks, growth and allocs of the range; peak and life are still those of
 * the run.
 */
export function rowsInRange(
  rows: SiteRow[],
  live: LiveSets,
  names: Names,
  range: Range,
): SiteRow[] {
  const end = live.liveAt(range.to);
  const growth = live.growth(range);
  const churn = live.churn(range);
  const sums = new Map<
    number,
    { live: number; blocks: number; growth: number; allocs: number; allocBytes: number }
  >();
  for (let s = 0; s < live.stackCnt; s++) {
    if (!end.bytes[s] && !growth.bytes[s] && !churn.blocks[s]) continue;
    const frame = names.siteOf(s);
    const sum = sums.get(frame) ?? { live: 0, blocks: 0, growth: 0, allocs: 0, allocBytes: 0 };
    sum.live += end.bytes[s]!;
    sum.blocks += end.blocks[s]!;
    sum.growth += growth.bytes[s]!;
    sum.allocs += churn.blocks[s]!;
    sum.allocBytes += churn.bytes[s]!;
    sums.set(frame, sum);
  }
  return rows.map((row) => ({
    ...row,
    ...(sums.get(row.frame) ?? { live: 0, blocks: 0, growth: 0, allocs: 0, allocBytes: 0 }),
  }));
}

export type SiteKey =
  | "label"
  | "tag"
  | "live"
  | "blocks"
  | "peak"
  | "growth"
  | "allocs"
  | "allocBytes"
  | "medianLifeUs";

export interface SiteColumn {
  key: SiteKey;
  title: string;
  help: string;
  isText?: boolean;
  show: (row: SiteRow) => string;
}

const ALL_COLUMNS: SiteColumn[] = [
  {
    key: "label",
    title: "Line",
    help: "the user's line that led to the allocation",
    show: (r) => r.label,
    isText: true,
  },
  {
    key: "tag",
    title: "Tag",
    help: "what most of its bytes are for, in the whole run",
    show: tagText,
    isText: true,
  },
  {
    key: "live",
    title: "Live",
    help: "bytes live at the end of the range",
    show: (r) => fmt.bytes(r.live),
  },
  {
    key: "peak",
    title: "Peak",
    help: "highest live bytes of this line in the whole run",
    show: (r) => fmt.bytes(r.peak),
  },
  {
    key: "growth",
    title: "Growth",
    help: "live at the end of the range less live at its start",
    show: (r) => fmt.delta(r.growth),
  },
  {
    key: "allocs",
    title: "Allocs",
    help: "allocations in the range",
    show: (r) => fmt.count(r.allocs),
  },
  {
    key: "allocBytes",
    title: "Allocated",
    help: "bytes allocated in the range, freed or not",
    show: (r) => fmt.bytes(r.allocBytes),
  },
  {
    key: "blocks",
    title: "Blocks",
    help: "blocks live at the end of the range",
    show: (r) => fmt.count(r.blocks),
  },
  {
    key: "medianLifeUs",
    title: "Median life",
    help: "of the freed blocks, in the whole run",
    show: (r) => lifeText(r.medianLifeUs, true),
  },
];

/** The columns that these rows can fill. Without a clock, a life is counted in events. */
export function siteColumns(rows: SiteRow[], hasTime: boolean): SiteColumn[] {
  const hasTags = rows.some((r) => r.tag !== null);
  const columns = ALL_COLUMNS.filter((c) => hasTags || c.key !== "tag");
  return columns.map((c) =>
    c.key === "medianLifeUs" ? { ...c, show: (r) => lifeText(r.medianLifeUs, hasTime) } : c,
  );
}

function lifeText(us: number | null, hasTime: boolean): string {
  return us === null ? "none freed" : fmt.span(us, hasTime);
}

/** "activation", "activation, gradient", "activation and 2 more" */
function tagText(row: SiteRow): string {
  if (row.tag === null) return "not known";
  const others = row.tags.filter((t) => t !== row.tag);
  if (others.length < 2) return [row.tag, ...others].join(", ");
  return `${row.tag} and ${others.length} more`;
}

export function sortRows(rows: SiteRow[], key: SiteKey, descending: boolean): SiteRow[] {
  const sign = descending ? -1 : 1;
  return rows.slice().sort((a, b) => {
    if (key === "label" || key === "tag")
      return sign * (a[key] ?? "").localeCompare(b[key] ?? "") || b.live - a.live;
    return sign * ((a[key] ?? -1) - (b[key] ?? -1)) || a.label.localeCompare(b.label);
  });
}

/** Rows that match all search words and hold blocks of the tag; "" is any tag. */
export function filterRows(rows: SiteRow[], query: string, names: Names, tag = ""): SiteRow[] {
  const words = query
    .trim()
    .toLowerCase()
    .split(/\s+/)
    .filter((w) => w !== "");
  if (words.length === 0 && tag === "") return rows;
  return rows.filter((row) => {
    if (tag !== "" && !row.tags.includes(tag)) return false;
    const frame = names.frame(row.frame);
    const text = `${frame?.file ?? ""}:${frame?.line ?? 0} ${frame?.function ?? ""}`.toLowerCase();
    return words.every((w) => text.includes(w));
  });
}

export function asMarkdown(rows: SiteRow[], columns = siteColumns(rows, true)): string {
  const cell = (text: string): string =>
    text.replace(/([\\|`*_<>[\]])/g, "\\$1").replace(/\s+/g, " ");
  const lines = [
    `| ${columns.map((c) => c.title).join(" | ")} |`,
    `| ${columns.map((c) => (c.isText ? "---" : "---:")).join(" | ")} |`,
    ...rows.map((row) => `| ${columns.map((c) => cell(c.show(row))).join(" | ")} |`),
  ];
  return `${lines.join("\n")}\n`;
}
