// Several devices or inputs beside each other as a heat map: hundreds of rows still fit, in a box
// that scrolls.
import { onTheme, packed, shade, theme } from "../draw/colors.ts";
import { absent, button, choice, h, replace, type Choice } from "../draw/dom.ts";
import { fontFamily, numberCell, rowName, scrolled, sizeCanvas, tableHead } from "../draw/parts.ts";
import { drawToWidth } from "../draw/size.ts";
import * as fmt from "../model/format.ts";
import { laneName } from "../model/lane_name.ts";
import type { HeatMeta } from "../model/meta.ts";
import {
  firstDivergence,
  firstGap,
  heatMap,
  rowOrder,
  skew,
  withoutCommonEnds,
  type HeatMap,
  type RowOrder,
} from "../model/ranks.ts";
import type { State } from "../state.ts";

const LABEL = 150;
const LABEL_NARROW = 84;
const NARROW = 500;
const LABEL_STEP = 15; // pixels between two labels
const ROW_MIN = 4;
const ROW_MAX = 26;
const ROOM = 520; // for all rows, where they fit
const GAP_FROM = 9; // rows this high are separated by a line
const CANVAS_MAX = 16000; // pixels a canvas can be high everywhere
const TABLE_SHOWN = 40;

const ORDERS: Choice<RowOrder>[] = [
  { value: "named", label: "As named" },
  { value: "peak", label: "Highest peak first" },
  { value: "apart", label: "Farthest from the median first" },
];

const ONE_DEVICE =
  "There is one device in one input, so there is nothing to compare. " +
  "Name several inputs to see ranks beside each other.";

const CLOCKS: Record<HeatMeta["clock"], string> = {
  common: "All rows share one clock.",
  own:
    "The inputs did not run at the same time, or have no clock: " +
    "a row goes from its first event to its last.",
};

export async function ranksView(state: State): Promise<HTMLElement[]> {
  const { heat, lanes } = state.data.meta;
  if (!heat) return [absent(ONE_DEVICE)];
  const sections = await Promise.all(lanes.map((_, i) => state.data.section("heat", i)));
  return new RanksView(state, heat, heatMap(sections, heat.bins)).elements();
}

/** Pixels of a row: as high as there is room for, but no canvas is higher than browsers allow. */
function rowHeight(cnt: number): number {
  const wanted = Math.max(ROW_MIN, Math.min(ROW_MAX, Math.floor(ROOM / cnt)));
  return Math.max(1, Math.min(wanted, Math.floor(CANVAS_MAX / devicePixelRatio / cnt)));
}

class RanksView {
  private readonly state: State;
  private readonly heat: HeatMeta;
  private readonly map: HeatMap;
  private readonly row: number;
  private readonly labels: string[];
  private readonly table: PeaksTable;
  private readonly redraw: () => void;
  private order: number[];
  private width = 0;

  private readonly canvas = h("canvas", {
    class: "heat",
    role: "img",
    "aria-label": "Heat map of live bytes, one row for each rank; the table below holds the peaks.",
  });
  private readonly holder = h(
    "div",
    { class: "map", tabindex: "0", role: "region", "aria-label": "Heat map" },
    this.canvas,
  );
  private readonly scale = h("div", { class: "heat-axis", "aria-hidden": "true" });
  private readonly status = h(
    "p",
    { class: "readout", role: "status" },
    "Point at the map for figures; a click shows that row in every view.",
  );

  constructor(state: State, heat: HeatMeta, map: HeatMap) {
    this.state = state;
    this.heat = heat;
    this.map = map;
    this.row = rowHeight(map.rows.length);
    this.labels = withoutCommonEnds(map.rows.map((_, i) => this.name(i)));
    this.order = rowOrder(map, "named");
    this.table = new PeaksTable(state);
    this.table.show(this.order);
    const ends = [0, heat.bins / 2, heat.bins];
    replace(this.scale, ...ends.map((bin) => h("span", {}, this.binText(bin))));
    this.redraw = drawToWidth(this.holder, (width) => this.draw(width));
    this.listen();
  }

  elements(): HTMLElement[] {
    const { map } = this;
    const cnt = map.rows.length;
    const said =
      `${fmt.count(cnt)} rows. Skew of the peaks: ${fmt.percent(skew(map))} ` +
      `(highest less lowest, of the highest). ${CLOCKS[this.heat.clock]}`;
    const ramp = h(
      "span",
      { class: "ramp" },
      fmt.bytes(map.min),
      h("span", { class: "ramp-bar", "aria-hidden": "true" }),
      fmt.bytes(map.max),
    );
    const orders = choice("Order", ORDERS, "named", (v) => this.setOrder(v));
    return [
      h("p", {}, this.describe()),
      h("p", { class: "sub" }, said),
      h("div", { class: "tools" }, cnt > 2 ? orders : null, ramp),
      this.holder,
      this.scale,
      this.status,
      this.table.root,
    ];
  }

  private listen(): void {
    this.canvas.addEventListener("mousemove", (e) => this.hover(e.offsetX, e.offsetY));
    this.canvas.addEventListener("click", (e) => {
      const lane = this.laneAt(e.offsetY);
      if (lane !== undefined) void this.state.setLane(lane);
    });
    onTheme(this.redraw);
    this.state.follow(this.canvas, ["lane"], this.redraw);
  }

  private name(lane: number): string {
    return laneName(this.state.data.meta, lane);
  }

  private get left(): number {
    return this.width < NARROW ? LABEL_NARROW : LABEL;
  }

  private binText(bin: number): string {
    const { bins, clock, span_us } = this.heat;
    if (clock === "common") return fmt.duration((span_us * bin) / bins);
    return `${fmt.percent(bin / bins)} of the events`;
  }

  private laneAt(y: number): number | undefined {
    return this.order[Math.floor(y / this.row)];
  }

  private draw(width: number): void {
    this.width = width;
    const { left, order, row } = this;
    const label = (lane: number): string => this.labels[lane]!;
    const chosen = this.state.lane.index;
    drawHeat(this.canvas, this.map, { width, row, left, order, label, chosen });
    this.scale.style.paddingLeft = `${left}px`;
  }

  private hover(x: number, y: number): void {
    const lane = this.laneAt(y);
    if (lane === undefined) return;
    const { bins, rows } = this.map;
    const share = (x - this.left) / (this.width - this.left);
    const bin = Math.min(bins - 1, Math.max(0, Math.floor(share * bins)));
    const span = `${this.binText(bin)} to ${this.binText(bin + 1)}`;
    const bytes = fmt.bytes(rows[lane]![bin]!);
    this.status.textContent = `${this.name(lane)}, ${span}: at most ${bytes} live`;
  }

  private setOrder(kind: RowOrder): void {
    this.order = rowOrder(this.map, kind);
    this.table.show(this.order);
    this.redraw();
  }

  private describe(): string {
    const { map } = this;
    if (map.rows.length === 2) return this.describeTwo();
    const apart = firstDivergence(map);
    if (!apart) return "No row stays more than a tenth of the highest point away from the median.";
    return (
      `First rank to diverge: ${this.name(apart.row)}. At ${this.binText(apart.bin)} ` +
      `it holds ${fmt.bytes(apart.bytes)} where the median is ${fmt.bytes(apart.median)}.`
    );
  }

  private describeTwo(): string {
    const bin = firstGap(this.map);
    if (bin === null) return "The two rows stay within a tenth of the highest point of each other.";
    const [a, b] = this.map.rows.map((row) => fmt.bytes(row[bin]!));
    return (
      `The two rows part at ${this.binText(bin)}: ` +
      `${this.name(0)} holds ${a}, ${this.name(1)} ${b}.`
    );
  }
}

/** The same as figures: a table whose rows follow the order of the map. */
class PeaksTable {
  readonly root: HTMLElement;
  private readonly state: State;
  private readonly body = h("tbody", {});
  private readonly more = h("div", { class: "buttons" });

  constructor(state: State) {
    this.state = state;
    const head = tableHead("Rank", "Peak", "Live at the end", "Events");
    const table = h("table", {}, h("caption", {}, "Peaks"), head, this.body);
    this.root = h("div", {}, scrolled("Peaks by rank", table), this.more);
  }

  show(order: number[], cnt = TABLE_SHOWN): void {
    replace(this.body, ...order.slice(0, cnt).map((lane) => this.row(lane)));
    const all = `Show all ${fmt.count(order.length)}`;
    const showAll = (): void => this.show(order, order.length);
    replace(this.more, order.length > cnt ? button(all, showAll) : null);
  }

  private row(index: number): HTMLElement {
    const { meta } = this.state.data;
    const { events, live_bytes, peak_bytes } = meta.lanes[index]!;
    const choose = (): void => void this.state.setLane(index);
    return h(
      "tr",
      {},
      rowName(button(laneName(meta, index), choose, { class: "link" })),
      numberCell(fmt.bytes(peak_bytes), peak_bytes),
      numberCell(fmt.bytes(live_bytes), live_bytes),
      numberCell(fmt.count(events)),
    );
  }
}

interface HeatLayout {
  width: number;
  row: number;
  left: number;
  order: number[];
  label: (lane: number) => string;
  chosen: number;
}

const SHADES = 256;

/** From pale to dark, from the lowest to the highest value of the map. */
function ramp(): Uint32Array {
  const t = theme();
  const isDark = parseInt(t.paper.slice(1, 3), 16) < 128;
  return Uint32Array.from({ length: SHADES }, (_, i) => {
    const share = i / (SHADES - 1);
    return packed(shade(t.live, (isDark ? -1 : 1) * 0.88 * (1 - share)));
  });
}

function drawHeat(canvas: HTMLCanvasElement, map: HeatMap, at: HeatLayout): void {
  const t = theme();
  const height = map.rows.length * at.row;
  const ctx = sizeCanvas(canvas, at.width, height);
  ctx.imageSmoothingEnabled = false;
  ctx.drawImage(picture(map, at.order), at.left, 0, at.width - at.left, height);
  ctx.fillStyle = t.paper;
  if (at.row >= GAP_FROM)
    for (let y = at.row; y <= height; y += at.row) ctx.fillRect(0, y - 1, at.width, 1);
  ctx.font = `12px ${fontFamily()}`;
  ctx.textBaseline = "middle";
  const every = Math.ceil(LABEL_STEP / at.row);
  at.order.forEach((lane, y) => {
    const isChosen = lane === at.chosen;
    if (isChosen) {
      ctx.fillStyle = t.accent;
      ctx.fillRect(at.left - 5, y * at.row, 4, Math.max(2, at.row - 1));
    }
    if (y % every !== 0) return;
    ctx.fillStyle = isChosen ? t.ink : t.muted;
    let text = at.label(lane);
    while (text.length > 4 && ctx.measureText(text).width > at.left - 12)
      text = `…${text.slice(2)}`;
    // A label of several rows is beside the first of them.
    ctx.fillText(text, 0, y * at.row + (every > 1 ? LABEL_STEP : at.row) / 2);
  });
}

/** One pixel for each cell. */
function picture(map: HeatMap, order: number[]): HTMLCanvasElement {
  const shades = ramp();
  const image = new ImageData(map.bins, order.length);
  const pixels = new Uint32Array(image.data.buffer);
  const span = map.max - map.min || 1;
  order.forEach((lane, y) => {
    const values = map.rows[lane]!;
    for (let bin = 0; bin < map.bins; bin++) {
      const share = (values[bin]! - map.min) / span;
      pixels[y * map.bins + bin] = shades[Math.round(share * (SHADES - 1))]!;
    }
  });
  const canvas = document.createElement("canvas");
  canvas.width = map.bins;
  canvas.height = order.length;
  canvas.getContext("2d")!.putImageData(image, 0, 0);
  return canvas;
}
