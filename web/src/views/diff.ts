// Before and after, line by line.
import { absent, h, replace, search } from "../draw/dom.ts";
import { figure, figures, numberCell, rowName, scrolled, tableHead } from "../draw/parts.ts";
import { diffRows, type DiffLead, type DiffRow } from "../model/diff.ts";
import * as fmt from "../model/format.ts";
import { laneName } from "../model/lane_name.ts";
import type { LaneMeta } from "../model/meta.ts";
import type { Names } from "../model/names.ts";
import type { SiteRow } from "../model/sites.ts";
import { Lane, type State } from "../state.ts";
import { sitePlace } from "./sites.ts";

const SHOWN = 200;

/** The lanes to compare: the same device, and rank where both know it, of the first two inputs. */
export function diffLanes(state: State): [number, number] | null {
  const { lanes } = state.data.meta;
  const { device, rank } = state.lane.meta;
  const isRank = (l: LaneMeta): boolean => l.rank === null || rank === null || l.rank === rank;
  const find = (input: number): number =>
    lanes.findIndex((l) => l.input === input && l.device === device && isRank(l));
  const pair: [number, number] = [find(0), find(1)];
  return pair[0] < 0 || pair[1] < 0 ? null : pair;
}

export interface Comparison {
  before: Lane;
  after: Lane;
  rows: DiffRow[];
}

/** Null when the inputs have nothing in common. */
export async function compare(state: State): Promise<Comparison | null> {
  const pair = diffLanes(state);
  if (!pair) return null;
  const load = (lane: number): Promise<Lane> => Lane.load(state.data, lane, state.names);
  const [before, after] = [await load(pair[0]), await load(pair[1])];
  return { before, after, rows: diffRows(await before.sites(), await after.sites()) };
}

export async function diffView(state: State): Promise<HTMLElement[]> {
  const both = await compare(state);
  if (!both)
    return [absent("The two inputs have no device in common, so there is nothing to compare.")];
  const { meta } = state.data;
  const [from, to] = [both.before, both.after].map((lane) => laneName(meta, lane.index));
  return [
    h("p", { class: "sub" }, `From ${from} to ${to}.`),
    totals(both.before.meta, both.after.meta),
    ...changes(state.names, both.rows),
  ];
}

/** "+400 MiB peak at s2_retention.py:5": what a comparison begins with. */
export function leadSentence(names: Names, lead: DiffLead): string {
  if (lead.peak === null) return "What changed, line by line, is below.";
  if (lead.peak === 0) return "The peak is the same.";
  const total = `${fmt.delta(lead.peak)} peak`;
  if (!lead.line) return total;
  const frame = names.frame(lead.line.frame);
  const hasLine = frame !== null && frame.line > 0;
  const place = hasLine ? `${fmt.baseName(frame.file)}:${frame.line}` : lead.line.label;
  return lead.isWhole
    ? `${total} at ${place}`
    : `${total}, most at ${place} (${fmt.delta(lead.line.atPeak)})`;
}

function totals(a: LaneMeta, b: LaneMeta): HTMLElement {
  const total = (name: string, x: number | null, y: number | null): HTMLElement | null => {
    if (x === null || y === null) return null;
    const change = figure(name, fmt.delta(y - x), y - x);
    change.append(h("dd", { class: "note" }, `${fmt.bytes(x)} to ${fmt.bytes(y)}`));
    return change;
  };
  const list = figures(
    total("Peak", a.peak_bytes, b.peak_bytes),
    total("Live at the end", a.live_bytes, b.live_bytes),
    total("Reserved", a.reserved_bytes, b.reserved_bytes),
  );
  list.id = "diff-totals";
  return list;
}

function changes(names: Names, rows: DiffRow[]): HTMLElement[] {
  const body = h("tbody", {});
  const caption = h("caption", {});
  const render = (query: string): void => {
    const isHit = (r: DiffRow): boolean =>
      `${r.place} ${r.label}`.toLowerCase().includes(query.toLowerCase());
    const list = rows.filter(isHit);
    replace(body, ...list.slice(0, SHOWN).map((row) => rowElement(names, row)));
    const left = list.length > SHOWN ? `; the first ${SHOWN} are shown` : "";
    caption.textContent = `${fmt.plural(list.length, "line")}, largest change first${left}`;
  };
  render("");
  const numbers = ["Live before", "Live after", "Change", "Peak change", "Allocs change"];
  const table = h("table", { class: "sites" }, caption, tableHead("Line", ...numbers), body);
  return [
    h("div", { class: "tools" }, search("Filter", "file, line or function", render)),
    scrolled("Changes by line", table),
  ];
}

function rowElement(names: Names, r: DiffRow): HTMLElement {
  const live = (side: SiteRow | null): HTMLElement =>
    side ? numberCell(fmt.bytes(side.live), side.live) : numberCell("not there");
  const sign = r.allocs > 0 ? "+" : r.allocs < 0 ? "-" : "";
  return h(
    "tr",
    {},
    rowName(r.label, sitePlace(names, r)),
    live(r.before),
    live(r.after),
    numberCell(fmt.delta(r.live), r.live),
    numberCell(fmt.delta(r.peak), r.peak),
    numberCell(`${sign}${fmt.count(Math.abs(r.allocs))}`, r.allocs),
  );
}
