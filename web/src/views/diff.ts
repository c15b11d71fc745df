// Before and after, line by line.
import { absent, h, replace, search } from "../draw/dom.ts";
import { diffRows, type DiffRow } from "../model/diff.ts";
import * as fmt from "../model/format.ts";
import { Lane, type State } from "../state.ts";
import { laneName } from "./top.ts";

const SHOWN = 200;

/** The lanes to compare: the same device of the first two inputs. */
export function diffLanes(state: State): [number, number] | null {
  const { lanes } = state.data.meta;
  const device = state.lane.meta.device;
  const find = (input: number): number =>
    lanes.findIndex((l) => l.input === input && l.device === device);
  const pair: [number, number] = [find(0), find(1)];
  return pair[0] < 0 || pair[1] < 0 ? null : pair;
}

export async function diffView(state: State): Promise<HTMLElement[]> {
  const pair = diffLanes(state);
  if (!pair)
    return [absent("The two inputs have no device in common, so there is nothing to compare.")];
  const { meta } = state.data;
  const [a, b] = [meta.lanes[pair[0]]!, meta.lanes[pair[1]]!];
  const [before, after] = await Promise.all(
    pair.map((i) => Lane.load(state.data, i, state.names).then((l) => l.sites())),
  );
  const rows = diffRows(before!, after!);
  let query = "";
  const body = h("tbody", {});
  const caption = h("caption", {});
  const render = (): void => {
    const list = rows.filter((r) =>
      `${r.place} ${r.label}`.toLowerCase().includes(query.toLowerCase()),
    );
    replace(body, ...list.slice(0, SHOWN).map(rowElement));
    caption.textContent = `${fmt.count(list.length)} lines, largest change first${list.length > SHOWN ? `; the first ${SHOWN} are shown` : ""}`;
  };
  render();
  const total = (name: string, x: number, y: number): HTMLElement =>
    h(
      "div",
      {},
      h("dt", {}, name),
      h("dd", { "data-value": y - x }, fmt.delta(y - x)),
      h("dd", { class: "note" }, `${fmt.bytes(x)} to ${fmt.bytes(y)}`),
    );
  return [
    h("p", { class: "sub" }, `From ${laneName(meta, pair[0])} to ${laneName(meta, pair[1])}.`),
    h(
      "dl",
      { class: "figures", id: "diff-totals" },
      a.peak_bytes !== null && b.peak_bytes !== null
        ? total("Peak", a.peak_bytes, b.peak_bytes)
        : null,
      total("Live at the end", a.live_bytes, b.live_bytes),
      a.reserved_bytes !== null && b.reserved_bytes !== null
        ? total("Reserved", a.reserved_bytes, b.reserved_bytes)
        : null,
    ),
    h(
      "div",
      { class: "tools" },
      search("Filter", "file, line or function", (text) => {
        query = text;
        render();
      }),
    ),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Changes by line" },
      h(
        "table",
        { class: "sites" },
        caption,
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col", class: "text" }, "Line"),
            ...["Live before", "Live after", "Change", "Peak change", "Allocs change"].map((n) =>
              h("th", { scope: "col", class: "number" }, n),
            ),
          ),
        ),
        body,
      ),
    ),
  ];
}

function rowElement(r: DiffRow): HTMLElement {
  const number = (text: string, value: number): HTMLElement =>
    h("td", { class: "number", "data-value": value }, text);
  const allocs = `${r.allocs > 0 ? "+" : ""}${r.allocs < 0 ? "-" : ""}${fmt.count(Math.abs(r.allocs))}`;
  return h(
    "tr",
    {},
    h(
      "th",
      { scope: "row", class: "text" },
      r.label,
      r.place === "" ? null : h("span", { class: "at" }, r.place),
    ),
    r.before
      ? number(fmt.bytes(r.before.live), r.before.live)
      : h("td", { class: "number" }, "not there"),
    r.after
      ? number(fmt.bytes(r.after.live), r.after.live)
      : h("td", { class: "number" }, "not there"),
    number(fmt.delta(r.live), r.live),
    number(fmt.delta(r.peak), r.peak),
    number(allocs, r.allocs),
  );
}
