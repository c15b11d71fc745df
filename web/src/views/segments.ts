// The allocator's segments at a moment: what is used, what waits, what is free between.
import { lineColors, onTheme, theme } from "../draw/colors.ts";
import { absent, button, h, replace } from "../draw/dom.ts";
import { drawToWidth } from "../draw/size.ts";
import { momentText } from "../draw/plot.ts";
import * as fmt from "../model/format.ts";
import {
  POOL_UNKNOWN,
  segmentsAt,
  segmentsAtEnd,
  totals,
  type Piece,
  type SegmentRow,
} from "../model/segments.ts";
import type { State } from "../state.ts";
import { chip } from "./timeline.ts";

const BAR = 16;
const GAP = 4;
const LABEL = 86;
const HEAD = 26;
/** Below this width a heading takes two lines. */
const NARROW = 620;
const ROWS_MAX = 400;

interface Placed {
  row: SegmentRow;
  y: number;
}

export async function segmentsView(state: State): Promise<HTMLElement[]> {
  const why = state.lane.meta.absent["segments"];
  if (why) return [absent(why)];
  const lane = state.lane;
  const [over, end, blocks] = await Promise.all([lane.segments(), lane.end(), lane.blocks()]);
  let atEnd = !over || lane.meta.events === 0;
  let rows: SegmentRow[] = [];
  let placed: Placed[] = [];
  let scale = 1;

  const figures = h("dl", { class: "figures" });
  const what = h("p", { class: "sub", id: "segments-what" });
  const status = h(
    "p",
    { class: "readout", role: "status" },
    "Point at a segment for its figures.",
  );
  const canvas = h("canvas", {
    class: "segments",
    role: "img",
    "aria-label": "Map of segments; its totals stand above as text.",
  });
  const holder = h(
    "div",
    { class: "map", tabindex: "0", role: "region", "aria-label": "Map of segments" },
    canvas,
  );

  const draw = (width: number): void => {
    const layout = place(rows, width);
    placed = layout.placed;
    scale = layout.scale;
    drawRows(canvas, layout, width, state);
  };
  const redraw = drawToWidth(holder, draw);
  const compute = (): void => {
    rows = atEnd && end ? segmentsAtEnd(end) : over ? segmentsAt(over, blocks, state.instant) : [];
    const sum = totals(rows);
    const row = (name: string, value: number, text = fmt.bytes(value)): HTMLElement =>
      h(
        "div",
        {},
        h("dt", {}, name),
        h(
          "dd",
          { "data-value": value, id: `segments-${name.toLowerCase().replace(/ /g, "-")}` },
          text,
        ),
      );
    replace(
      figures,
      row("Segments", sum.segments, fmt.count(sum.segments)),
      row("Reserved", sum.reserved),
      row("Used", sum.used),
      row("Free inside", sum.free),
      row("Largest gap", sum.largestGap),
    );
    what.textContent = describe(state, atEnd);
    redraw();
  };
  canvas.addEventListener("mousemove", (e) => {
    const hit = placed.find((p) => e.offsetY >= p.y && e.offsetY < p.y + BAR);
    if (!hit) return;
    const offset = (e.offsetX - LABEL) / scale;
    status.textContent = describeAt(
      state,
      hit.row,
      hit.row.pieces.find((p) => offset >= p.offset && offset < p.offset + p.size),
    );
  });
  state.follow(canvas, ["instant"], () => {
    atEnd = !over;
    compute();
  });
  onTheme(redraw);
  compute();

  const t = theme();
  return [
    h(
      "div",
      { class: "tools" },
      h(
        "div",
        { class: "buttons" },
        over && lane.meta.events > 0
          ? button("At the peak", () => {
              atEnd = false;
              state.setInstant(lane.meta.peak_event);
              compute();
            })
          : null,
        over && lane.meta.events > 0
          ? button("At the chosen moment", () => {
              atEnd = false;
              compute();
            })
          : null,
        end
          ? button("At the end, as recorded", () => {
              atEnd = true;
              compute();
            })
          : null,
      ),
    ),
    what,
    figures,
    h(
      "ul",
      { class: "legend" },
      h("li", {}, chip(t.series[0]!), "used, coloured by line"),
      h("li", {}, chip(t.bad), "dropped, waits for a stream"),
      h("li", {}, chip(t.free), "free inside the segment"),
    ),
    status,
    holder,
  ];
}

function describe(state: State, atEnd: boolean): string {
  const lane = state.lane;
  if (atEnd) return "The end state as the input recorded it, in the allocator's rounded bytes.";
  const rest =
    lane.meta.blocks_kept < lane.meta.blocks_total
      ? ` Only blocks kept one by one are drawn; smaller ones look free here (none above ${fmt.bytes(lane.meta.largest_left_bytes)}).`
      : "";
  return `After ${momentText(state, Math.max(0, state.instant))}, replayed from the events.${rest}`;
}

function poolName(row: SegmentRow): string {
  const pool =
    row.pool === POOL_UNKNOWN ? "" : row.pool === 0 ? "default pool" : `private pool ${row.pool}`;
  return [
    pool,
    `stream ${row.stream}`,
    row.isLarge ? "large" : "small",
    row.isExpandable ? "expandable" : "",
  ]
    .filter((s) => s !== "")
    .join(", ");
}

function describeAt(state: State, row: SegmentRow, piece: Piece | undefined): string {
  const base = `Segment ${row.address}, ${fmt.bytes(row.size)}, ${poolName(row)}: ${fmt.bytes(row.used)} used, largest gap ${fmt.bytes(row.largestGap)}`;
  if (!piece) return base;
  return `${base}. Here: ${fmt.bytes(piece.size)} ${piece.state === "waiting" ? "waiting to be freed, " : ""}of ${state.names.label(state.names.siteOf(piece.stack))}`;
}

interface Layout {
  groups: { name: string; y: number; total: number; used: number }[];
  placed: Placed[];
  scale: number;
  height: number;
  left: number;
}

/** Rows by pool and stream, largest segments first. One scale for all, so that lengths compare. */
function place(rows: SegmentRow[], width: number): Layout {
  const byGroup = new Map<string, SegmentRow[]>();
  for (const row of rows) {
    const name = poolName(row);
    byGroup.set(name, [...(byGroup.get(name) ?? []), row]);
  }
  const longest = rows.reduce((m, r) => Math.max(m, r.size), 1);
  const out: Layout = {
    groups: [],
    placed: [],
    scale: (width - LABEL - 2) / longest,
    height: 0,
    left: 0,
  };
  let y = 0;
  for (const [name, list] of [...byGroup].sort((a, b) => sum(b[1]) - sum(a[1]))) {
    out.groups.push({
      name: `${name}: ${fmt.plural(list.length, "segment")}`,
      y,
      total: sum(list),
      used: list.reduce((s, r) => s + r.used, 0),
    });
    y += width < NARROW ? HEAD + 14 : HEAD;
    for (const row of list.sort((a, b) => b.size - a.size || a.base - b.base)) {
      if (out.placed.length >= ROWS_MAX) {
        out.left++;
        continue;
      }
      out.placed.push({ row, y });
      y += BAR + GAP;
    }
    y += 6;
  }
  out.height = y + (out.left > 0 ? HEAD : 0);
  return out;
}

function sum(rows: SegmentRow[]): number {
  return rows.reduce((s, r) => s + r.size, 0);
}

function drawRows(canvas: HTMLCanvasElement, layout: Layout, width: number, state: State): void {
  const t = theme();
  const r = devicePixelRatio;
  canvas.width = Math.round(width * r);
  canvas.height = Math.max(1, Math.round(layout.height * r));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${layout.height}px`;
  const ctx = canvas.getContext("2d")!;
  ctx.scale(r, r);
  const family = getComputedStyle(document.body).fontFamily;
  ctx.textBaseline = "middle";
  for (const group of layout.groups) {
    ctx.font = `600 12px ${family}`;
    ctx.fillStyle = t.ink;
    const used = `${fmt.bytes(group.used)} of ${fmt.bytes(group.total)} used`;
    ctx.fillText(width < NARROW ? group.name : `${group.name}, ${used}`, 0, group.y + HEAD / 2 + 2);
    if (width >= NARROW) continue;
    ctx.font = `12px ${family}`;
    ctx.fillStyle = t.muted;
    ctx.fillText(used, 0, group.y + HEAD / 2 + 17);
  }
  ctx.font = `11px ${family}`;
  const color = lineColors(state.lane.meta.groups.line, t);
  for (const { row, y } of layout.placed) {
    ctx.fillStyle = t.muted;
    ctx.textAlign = "right";
    ctx.fillText(fmt.bytes(row.size), LABEL - 8, y + BAR / 2);
    ctx.textAlign = "left";
    ctx.fillStyle = t.free;
    ctx.fillRect(LABEL, y, Math.max(1, row.size * layout.scale), BAR);
    for (const piece of row.pieces) {
      ctx.fillStyle = piece.state === "waiting" ? t.bad : color(state.names.siteOf(piece.stack));
      const w = piece.size * layout.scale;
      ctx.fillRect(
        LABEL + piece.offset * layout.scale,
        y,
        Math.max(0.5, w - (w > 3 ? 0.75 : 0)),
        BAR,
      );
    }
  }
  if (layout.left > 0) {
    ctx.fillStyle = t.muted;
    ctx.fillText(
      `${fmt.count(layout.left)} smaller segments are not drawn; the totals above count them.`,
      0,
      layout.height - HEAD / 2,
    );
  }
}
