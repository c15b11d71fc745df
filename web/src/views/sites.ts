// The table of user lines.
import { button, h, replace, search, select } from "../draw/dom.ts";
import { scrolled } from "../draw/parts.ts";
import { placeLink } from "../draw/place.ts";
import { perFrame } from "../draw/size.ts";
import * as fmt from "../model/format.ts";
import type { LiveSets } from "../model/live.ts";
import type { Names } from "../model/names.ts";
import {
  asMarkdown,
  filterRows,
  rowsInRange,
  siteColumns,
  sortRows,
  type SiteColumn,
  type SiteKey,
  type SiteRow,
} from "../model/sites.ts";
import type { State } from "../state.ts";
import { stackList } from "./stack_list.ts";

const SHOWN = 100;
const STACKS_SHOWN = 5;

export async function sitesView(state: State): Promise<HTMLElement[]> {
  return new SitesView(state, await state.lane.sites(), await state.lane.live()).elements();
}

class SitesView {
  private readonly state: State;
  private readonly all: SiteRow[];
  private readonly live: LiveSets;
  private readonly columns: SiteColumn[];
  private rows: SiteRow[];
  private key: SiteKey = "live";
  private isDescending = true;
  private query: string;
  private tag = "";
  private shown = SHOWN;

  private readonly head = h("tr", {});
  private readonly body = h("tbody", {});
  private readonly caption = h("caption", {});
  private readonly more = h("div", { class: "buttons" });
  private readonly said = h("span", { class: "sub", role: "status" });
  private readonly field = search("Filter", "file, line or function", (text) => {
    this.query = text;
    this.render();
  });

  constructor(state: State, all: SiteRow[], live: LiveSets) {
    this.state = state;
    this.all = all;
    this.live = live;
    this.rows = all;
    this.columns = siteColumns(all, state.lane.hasTime);
    this.query = state.highlight;
    this.field.querySelector("input")!.value = this.query;
    state.follow(
      this.body,
      ["range"],
      perFrame(() => this.compute()),
    );
    state.follow(this.body, ["highlight"], () => this.takeHighlight());
    this.compute();
  }

  elements(): HTMLElement[] {
    const { body, caption, head, said } = this;
    const copy = button("Copy as Markdown", () => void this.copy());
    const table = h("table", { class: "sites" }, caption, h("thead", {}, head), body);
    return [
      h("div", { class: "tools" }, this.field, this.tagField(), copy, said),
      scrolled("Lines of code", table),
      this.more,
    ];
  }

  private tagField(): HTMLElement | null {
    const isUsed = (name: string): boolean => this.all.some((r) => r.tags.includes(name));
    const tags = this.state.data.meta.tag_names.filter(isUsed);
    if (tags.length === 0) return null;
    const choices = tags.map((name) => ({ value: name, label: name }));
    return select("Tag", [{ value: "", label: "any" }, ...choices], this.tag, (v) => {
      this.tag = v;
      this.render();
    });
  }

  private compute(): void {
    const { all, live, state } = this;
    const hasHistory = state.lane.meta.events > 0;
    this.rows = hasHistory ? rowsInRange(all, live, state.names, state.range) : all;
    this.render();
  }

  private takeHighlight(): void {
    this.query = this.state.highlight;
    this.field.querySelector("input")!.value = this.query;
    this.render();
  }

  private visible(): SiteRow[] {
    const rows = filterRows(this.rows, this.query, this.state.names, this.tag);
    return sortRows(rows, this.key, this.isDescending);
  }

  private render(): void {
    const list = this.visible();
    replace(this.head, ...this.columns.map((c) => this.header(c)));
    replace(this.body, ...list.slice(0, this.shown).map((row) => this.rowElement(row)));
    this.caption.textContent = this.describe(list.length);
    const left = list.length - this.shown;
    const next = `Show ${fmt.count(Math.min(SHOWN, left))} more`;
    replace(this.more, left > 0 ? button(next, () => this.showMore()) : null);
  }

  private describe(cnt: number): string {
    const range = this.state.isWhole
      ? ", whole run."
      : ", figures of the selected range; peak and life are of the whole run.";
    const exact = this.live.isExact
      ? ""
      : " Live, growth and counts are exact at the checkpoints nearest to the range's ends.";
    const all = this.rows.length;
    const lines =
      cnt === all ? fmt.plural(cnt, "line") : `${fmt.count(cnt)} of ${fmt.plural(all, "line")}`;
    return `${lines}${range}${exact}`;
  }

  private showMore(): void {
    this.shown += SHOWN;
    this.render();
  }

  private header(c: SiteColumn): HTMLElement {
    const sorted = this.isDescending ? "descending" : "ascending";
    const sort = (): void => {
      this.isDescending = c.key === this.key ? !this.isDescending : !c.isText;
      this.key = c.key;
      this.render();
    };
    return h(
      "th",
      { scope: "col", "aria-sort": c.key === this.key ? sorted : "none", class: cellClass(c) },
      button(c.title, sort, { title: c.help, class: "sort" }),
    );
  }

  private rowElement(row: SiteRow): HTMLElement {
    const tr = h("tr", { "data-frame": row.frame });
    const toggle = (): void => toggleStacks(this.state, tr, row, this.columns.length);
    const name = button(row.label, toggle, { class: "link", "aria-expanded": "false" });
    const place = sitePlace(this.state.names, row);
    const cell = (c: SiteColumn): HTMLElement => {
      const tags = c.key === "tag" && row.tags.length > 1 ? row.tags.join(", ") : null;
      const attrs = { class: cellClass(c), "data-value": row[c.key], title: tags };
      return h("td", attrs, c.show(row));
    };
    for (const c of this.columns)
      tr.append(
        c.key === "label" ? h("th", { scope: "row", class: "text" }, name, place) : cell(c),
      );
    return tr;
  }

  private async copy(): Promise<void> {
    const text = asMarkdown(this.visible().slice(0, this.shown), this.columns);
    const isCopied = await toClipboard(text);
    this.said.textContent = isCopied ? "Copied." : "The browser refused; the text is below.";
    if (isCopied) return;
    const attrs = { rows: "12", readonly: true, "aria-label": "The table as Markdown" };
    replace(this.more, h("textarea", attrs, text));
  }
}

/** "dir/train.py:12" below the name of a line; null where it has no file. */
export function sitePlace(names: Names, row: { frame: number; place: string }): HTMLElement | null {
  const frame = names.frame(row.frame);
  if (row.place === "" || !frame) return null;
  return h("span", { class: "at" }, placeLink(frame.file, frame.line, row.place));
}

function cellClass(column: SiteColumn): string {
  if (column.key === "label") return "text";
  return column.isText ? "word" : "number";
}

/** The stacks that lead to a line, below its row. */
function toggleStacks(state: State, tr: HTMLElement, row: SiteRow, span: number): void {
  const opened = tr.nextElementSibling?.classList.contains("stacks");
  tr.querySelector("button")!.setAttribute("aria-expanded", String(!opened));
  if (opened) {
    tr.nextElementSibling!.remove();
    return;
  }
  const { names } = state;
  const stacks: number[] = [];
  for (let s = 0; s < names.stackCnt && stacks.length < STACKS_SHOWN; s++)
    if (names.siteOf(s) === row.frame && names.depth(s) > 0) stacks.push(s);
  const which = stacks.length === 1 ? "stack" : `${stacks.length} stacks`;
  const said =
    stacks.length === 0
      ? "No stack was kept for this line."
      : `The first ${which} through this line:`;
  const lists = stacks.map((s) => stackList(names, s));
  tr.after(h("tr", { class: "stacks" }, h("td", { colspan: String(span) }, said, ...lists)));
}

async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
