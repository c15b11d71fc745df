// Before and after, line by line.
import { absent, h, replace, search } from "../draw/dom.ts";
import { figure, figures, numberCell, rowName, scrolled, tableHead } from "../draw/parts.ts";
import { diffRows, type DiffRow } from "../model/diff.ts";
import * as fmt from "../model/format.ts";
import { laneName } from "../model/lane_name.ts";
import type { LaneMeta } from "../model/meta.ts";
import type { SiteRow } from "../model/sites.ts";
import { Lane, type State } from "../state.ts";

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

export async function diffView(state: State): Promise<HTMLElement[]> {
  const pair = diffLanes(state);
  if (!pair)
    return [absent("The two inputs have no device in common, so there is nothing to compare.")];
  const { meta } = state.data;
  const sites = (lane: number): Promise<SiteRow[]> =>
    Lane.load(state.data, lane, state.names).then((l) => l.sites());
  const rows = diffRows(await sites(pair[0]), await sites(pair[1]));
  const [from, to] = pair.map((lane) => laneName(meta, lane));
  return [
    h("p", { class: "sub" }, `From ${from} to ${to}.`),
    totals(meta.lanes[pair[0]]!, meta.lanes[pair[1]]!),
    ...changes(rows),
  ];
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

function changes(rows: DiffRow[]): HTMLElement[] {
  const body = h("tbody", {});
  const caption = h("caption", {});
  const render = (query: string): void => {
    const isHit = (r: DiffRow): boolean =>
      `${r.place} ${r.label}`.toLowerCase().includes(query.toLowerCase());
    const list = rows.filter(isHit);
    replace(body, ...list.slice(0, SHOWN).map(rowElement));
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

function rowElement(r: DiffRow): HTMLElement {
  const live = (side: SiteRow | null): HTMLElement =>
    side ? numberCell(fmt.bytes(side.live), side.live) : numberCell("not there");
  const sign = r.allocs > 0 ? "+" : r.allocs < 0 ? "-" : "";
  return h(
    "tr",
    {},
    rowName(r.label, r.place === "" ? null : h("span", { class: "at" }, r.place)),
    live(r.before),
    live(r.after),
    numberCell(fmt.delta(r.live), r.live),
    numberCell(fmt.delta(r.peak), r.peak),
    numberCell(`${sign}${fmt.count(Math.abs(r.allocs))}`, r.allocs),
  );
}
