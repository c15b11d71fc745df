// The table of user lines.
import { button, h, replace, search, select } from "../draw/dom.ts";
import { perFrame } from "../draw/size.ts";
import * as fmt from "../model/format.ts";
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

export async function sitesView(state: State): Promise<HTMLElement[]> {
  const all = await state.lane.sites();
  const live = await state.lane.live();
  let key: SiteKey = "live";
  let descending = true;
  let query = state.highlight;
  let tag = "";
  let shown = SHOWN;
  let rows: SiteRow[] = all;
  const columns = siteColumns(all);
  const tags = state.data.meta.tag_names.filter((name) => all.some((r) => r.tags.includes(name)));
  const head = h("tr", {});
  const body = h("tbody", {});
  const caption = h("caption", {});
  const more = h("div", { class: "buttons" });
  const said = h("span", { class: "sub", role: "status" });

  const compute = (): void => {
    rows = state.lane.meta.events > 0 ? rowsInRange(all, live, state.names, state.range) : all;
    render();
  };
  const visible = (): SiteRow[] =>
    sortRows(filterRows(rows, query, state.names, tag), key, descending);
  const render = (): void => {
    const list = visible();
    replace(head, ...columns.map(header));
    replace(body, ...list.slice(0, shown).map((row) => rowElement(row)));
    caption.textContent =
      `${fmt.count(list.length)} of ${fmt.count(rows.length)} lines` +
      (state.isWhole
        ? ", whole run."
        : ", figures of the selected range; peak and life are of the whole run.") +
      (live.isExact
        ? ""
        : " Live, growth and counts are exact at the checkpoints nearest to the range's ends.");
    replace(
      more,
      list.length > shown
        ? button(`Show ${fmt.count(Math.min(SHOWN, list.length - shown))} more`, () => {
            shown += SHOWN;
            render();
          })
        : null,
    );
  };
  const header = (c: SiteColumn): HTMLElement =>
    h(
      "th",
      {
        scope: "col",
        "aria-sort": c.key === key ? (descending ? "descending" : "ascending") : "none",
        class: cellClass(c),
      },
      button(
        c.title,
        () => {
          descending = c.key === key ? !descending : !c.isText;
          key = c.key;
          render();
        },
        { title: c.help, class: "sort" },
      ),
    );
  const rowElement = (row: SiteRow): HTMLElement => {
    const tr = h("tr", { "data-frame": row.frame });
    tr.append(
      ...columns.map((c) =>
        c.key === "label"
          ? h(
              "th",
              { scope: "row", class: "text" },
              button(row.label, () => toggleStacks(state, tr, row, columns.length), {
                class: "link",
                "aria-expanded": "false",
              }),
              row.place === "" ? null : h("span", { class: "at" }, row.place),
            )
          : h(
              "td",
              {
                class: cellClass(c),
                "data-value": row[c.key],
                title: c.key === "tag" && row.tags.length > 1 ? row.tags.join(", ") : null,
              },
              c.show(row),
            ),
      ),
    );
    return tr;
  };
  const copy = async (): Promise<void> => {
    const text = asMarkdown(visible().slice(0, shown));
    said.textContent = (await toClipboard(text))
      ? "Copied."
      : "The browser refused; the text is below.";
    if (said.textContent !== "Copied.")
      replace(
        more,
        h("textarea", { rows: "12", readonly: true, "aria-label": "The table as Markdown" }, text),
      );
  };

  const field = search("Filter", "file, line or function", (text) => {
    query = text;
    render();
  });
  field.querySelector("input")!.value = query;
  const table = h("table", { class: "sites" }, caption, h("thead", {}, head), body);
  const scroll = h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Lines of code" },
    table,
  );
  state.follow(table, ["range"], perFrame(compute));
  state.follow(table, ["highlight"], () => {
    query = state.highlight;
    field.querySelector("input")!.value = query;
    render();
  });
  compute();
  const byTag =
    tags.length === 0
      ? null
      : select(
          "For",
          [{ value: "", label: "anything" }, ...tags.map((name) => ({ value: name, label: name }))],
          tag,
          (v) => {
            tag = v;
            render();
          },
        );
  return [
    h(
      "div",
      { class: "tools" },
      field,
      byTag,
      button("Copy as Markdown", () => void copy()),
      said,
    ),
    scroll,
    more,
  ];
}

function cellClass(column: SiteColumn): string {
  return column.key === "label" ? "text" : column.isText ? "word" : "number";
}

/** The stacks that lead to a line, below its row. */
function toggleStacks(state: State, tr: HTMLElement, row: SiteRow, span: number): void {
  const opened = tr.nextElementSibling?.classList.contains("stacks");
  tr.querySelector("button")!.setAttribute("aria-expanded", String(!opened));
  if (opened) {
    tr.nextElementSibling!.remove();
    return;
  }
  const stacks: number[] = [];
  for (let s = 0; s < state.names.stackCnt && stacks.length < 5; s++)
    if (state.names.siteOf(s) === row.frame && state.names.depth(s) > 0) stacks.push(s);
  tr.after(
    h(
      "tr",
      { class: "stacks" },
      h(
        "td",
        { colspan: String(span) },
        stacks.length === 0
          ? "No stack was kept for this line."
          : `The first ${stacks.length === 1 ? "stack" : `${stacks.length} stacks`} through this line:`,
        ...stacks.map((s) => stackList(state.names, s)),
      ),
    ),
  );
}

async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
