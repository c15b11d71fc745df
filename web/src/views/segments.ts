// The allocator's segments at a moment: used, waiting to be freed, and free in between.
import { lineColors, onTheme, theme, type Theme } from "../draw/colors.ts";
import { absent, button, h, replace } from "../draw/dom.ts";
import { figure, fontFamily, legendItem, sizeCanvas } from "../draw/parts.ts";
import { drawToWidth } from "../draw/size.ts";
import type { Blocks } from "../model/blocks.ts";
import type { Columns } from "../model/data.ts";
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

const BAR = 16;
const GAP = 4;
const LABEL = 86;
const HEAD = 26;
const HEAD_NARROW = 40;
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
  const { lane } = state;
  const [over, end, blocks] = [await lane.segments(), await lane.end(), await lane.blocks()];
  return new SegmentsView(state, over, end, blocks).elements();
}

class SegmentsView {
  private readonly state: State;
  /** segments over the run; null where only the end state is known */
  private readonly over: Columns<"segments"> | null;
  private readonly end: Columns<"end"> | null;
  private readonly blocks: Blocks;
  private readonly redraw: () => void;
  private isAtEnd: boolean;
  private rows: SegmentRow[] = [];
  private layout: Layout | null = null;

  private readonly figures = h("dl", { class: "figures" });
  private readonly what = h("p", { class: "sub", id: "segments-what" });
  private readonly status = h(
    "p",
    { class: "readout", role: "status" },
    "Point at a segment for its figures.",
  );
  private readonly canvas = h("canvas", {
    class: "segments",
    role: "img",
    "aria-label": "Map of segments; the totals are in the text above.",
  });
  private readonly holder = h(
    "div",
    { class: "map", tabindex: "0", role: "region", "aria-label": "Map of segments" },
    this.canvas,
  );

  constructor(
    state: State,
    over: Columns<"segments"> | null,
    end: Columns<"end"> | null,
    blocks: Blocks,
  ) {
    this.state = state;
    this.over = over;
    this.end = end;
    this.blocks = blocks;
    this.isAtEnd = !over || state.lane.meta.events === 0;
    this.redraw = drawToWidth(this.holder, (width) => this.draw(width));
    this.canvas.addEventListener("mousemove", (e) => this.hover(e.offsetX, e.offsetY));
    state.follow(this.canvas, ["instant"], () => this.show(!over));
    onTheme(this.redraw);
    this.show(this.isAtEnd);
  }

  elements(): HTMLElement[] {
    const t = theme();
    const legend = h(
      "ul",
      { class: "legend" },
      legendItem(t.series[0]!, "used, coloured by line"),
      legendItem(t.bad, "freed, waiting for a stream"),
      legendItem(t.free, "free inside the segment"),
    );
    const tools = h("div", { class: "tools" }, this.moments());
    return [tools, this.what, this.figures, legend, this.status, this.holder];
  }

  private moments(): HTMLElement {
    const { state } = this;
    const { meta } = state.lane;
    const atPeak = (): void => {
      state.setInstant(meta.peak_event);
      this.show(false);
    };
    const hasMoments = this.over !== null && meta.events > 0;
    return h(
      "div",
      { class: "buttons" },
      hasMoments ? button("At the peak", atPeak) : null,
      hasMoments ? button("At the chosen moment", () => this.show(false)) : null,
      this.end ? button("At the end, as recorded", () => this.show(true)) : null,
    );
  }

  private rowsAt(): SegmentRow[] {
    if (this.isAtEnd && this.end) return segmentsAtEnd(this.end);
    return this.over ? segmentsAt(this.over, this.blocks, this.state.instant) : [];
  }

  private show(isAtEnd: boolean): void {
    this.isAtEnd = isAtEnd;
    this.rows = this.rowsAt();
    const sum = totals(this.rows);
    const bytes: [string, string, number][] = [
      ["Reserved", "reserved", sum.reserved],
      ["Used", "used", sum.used],
      ["Free inside", "free-inside", sum.free],
      ["Largest gap", "largest-gap", sum.largestGap],
    ];
    replace(
      this.figures,
      figure("Segments", fmt.count(sum.segments), sum.segments, "segments-segments"),
      ...bytes.map(([name, id, n]) => figure(name, fmt.bytes(n), n, `segments-${id}`)),
    );
    this.what.textContent = this.describe();
    this.redraw();
  }

  private describe(): string {
    const { meta } = this.state.lane;
    if (this.isAtEnd)
      return "The end state as the input recorded it, in the allocator's rounded bytes.";
    const rest =
      meta.blocks_kept < meta.blocks_total
        ? " Only blocks kept one by one are drawn; smaller ones look free here " +
          `(none above ${fmt.bytes(meta.largest_left_bytes)}).`
        : "";
    const when = this.state.lane.momentText(Math.max(0, this.state.instant));
    return `After ${when}, replayed from the events.${rest}`;
  }

  private draw(width: number): void {
    this.layout = place(this.rows, width);
    drawRows(this.canvas, this.layout, width, this.state);
  }

  private hover(x: number, y: number): void {
    if (!this.layout) return;
    const hit = this.layout.placed.find((p) => y >= p.y && y < p.y + BAR);
    if (!hit) return;
    const offset = (x - LABEL) / this.layout.scale;
    const isHere = (p: Piece): boolean => offset >= p.offset && offset < p.offset + p.size;
    this.status.textContent = describeAt(this.state, hit.row, hit.row.pieces.find(isHere));
  }
}

function poolName(row: SegmentRow): string {
  const pool = row.pool === 0 ? "default pool" : `private pool ${row.pool}`;
  const parts = [
    row.pool === POOL_UNKNOWN ? "" : pool,
    `stream ${row.stream}`,
    row.isLarge ? "large" : "small",
    row.isExpandable ? "expandable" : "",
  ];
  return parts.filter((s) => s !== "").join(", ");
}

function describeAt(state: State, row: SegmentRow, piece: Piece | undefined): string {
  const base =
    `Segment ${row.address}, ${fmt.bytes(row.size)}, ${poolName(row)}: ` +
    `${fmt.bytes(row.used)} used, largest gap ${fmt.bytes(row.largestGap)}`;
  if (!piece) return base;
  const waiting = piece.state === "waiting" ? "waiting to be freed, " : "";
  const site = state.names.label(state.names.siteOf(piece.stack));
  return `${base}. Here: ${fmt.bytes(piece.size)} ${waiting}of ${site}`;
}

interface Group {
  name: string;
  y: number;
  total: number;
  used: number;
}

interface Layout {
  groups: Group[];
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
  const scale = (width - LABEL - 2) / longest;
  const out: Layout = { groups: [], placed: [], scale, height: 0, left: 0 };
  let y = 0;
  for (const [name, list] of [...byGroup].sort((a, b) => sum(b[1]) - sum(a[1]))) {
    const used = list.reduce((s, r) => s + r.used, 0);
    const title = `${name}: ${fmt.plural(list.length, "segment")}`;
    out.groups.push({ name: title, y, total: sum(list), used });
    y += width < NARROW ? HEAD_NARROW : HEAD;
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
  const ctx = sizeCanvas(canvas, width, layout.height);
  const family = fontFamily();
  ctx.textBaseline = "middle";
  for (const group of layout.groups) drawHeading(ctx, group, width < NARROW, family, t);
  ctx.font = `11px ${family}`;
  const color = lineColors(state.lane.meta.groups.line, t);
  const colorOf = (piece: Piece): string =>
    piece.state === "waiting" ? t.bad : color(state.names.siteOf(piece.stack));
  for (const placed of layout.placed) drawSegment(ctx, placed, layout.scale, t, colorOf);
  if (layout.left === 0) return;
  ctx.fillStyle = t.muted;
  const left = fmt.plural(layout.left, "smaller segment");
  ctx.fillText(`${left} not drawn; the totals above count all.`, 0, layout.height - HEAD / 2);
}

function drawHeading(
  ctx: CanvasRenderingContext2D,
  group: Group,
  isNarrow: boolean,
  family: string,
  t: Theme,
): void {
  ctx.font = `600 12px ${family}`;
  ctx.fillStyle = t.ink;
  const used = `${fmt.bytes(group.used)} of ${fmt.bytes(group.total)} used`;
  ctx.fillText(isNarrow ? group.name : `${group.name}, ${used}`, 0, group.y + HEAD / 2 + 2);
  if (!isNarrow) return;
  ctx.font = `12px ${family}`;
  ctx.fillStyle = t.muted;
  ctx.fillText(used, 0, group.y + HEAD / 2 + 17);
}

function drawSegment(
  ctx: CanvasRenderingContext2D,
  { row, y }: Placed,
  scale: number,
  t: Theme,
  colorOf: (piece: Piece) => string,
): void {
  ctx.fillStyle = t.muted;
  ctx.textAlign = "right";
  ctx.fillText(fmt.bytes(row.size), LABEL - 8, y + BAR / 2);
  ctx.textAlign = "left";
  ctx.fillStyle = t.free;
  ctx.fillRect(LABEL, y, Math.max(1, row.size * scale), BAR);
  for (const piece of row.pieces) {
    ctx.fillStyle = colorOf(piece);
    const width = piece.size * scale;
    ctx.fillRect(
      LABEL + piece.offset * scale,
      y,
      Math.max(0.5, width - (width > 3 ? 0.75 : 0)),
      BAR,
    );
  }
}
