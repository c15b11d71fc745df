// Several devices or inputs beside each other as a heat map: hundreds of rows still fit, in a box that scrolls.
import { onTheme, packed, shade, theme } from "../draw/colors.ts";
import { absent, button, choice, h, replace } from "../draw/dom.ts";
import { drawToWidth } from "../draw/size.ts";
import * as fmt from "../model/format.ts";
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
import { laneName } from "./top.ts";

const LABEL = 150;
const LABEL_NARROW = 84;
const LABEL_STEP = 15; // pixels between two labels
const ROW_MIN = 4;
const ROW_MAX = 26;
const ROOM = 520; // for all rows, where they fit
const GAP_FROM = 9; // rows this high are parted by a line
const CANVAS_MAX = 16000; // pixels a canvas can be high everywhere
const TABLE_SHOWN = 40;

export async function ranksView(state: State): Promise<HTMLElement[]> {
  const { meta } = state.data;
  const heat = meta.heat;
  if (!heat)
    return [
      absent(
        "There is one device in one input, so there is nothing to compare. Name several inputs to see ranks beside each other.",
      ),
    ];
  const map = heatMap(
    await Promise.all(meta.lanes.map((_, i) => state.data.section("heat", i))),
    heat.bins,
  );
  const cnt = map.rows.length;
  const row = Math.max(
    1,
    Math.min(
      Math.max(ROW_MIN, Math.min(ROW_MAX, Math.floor(ROOM / cnt))),
      Math.floor(CANVAS_MAX / devicePixelRatio / cnt),
    ),
  );
  const canvas = h("canvas", {
    class: "heat",
    role: "img",
    "aria-label": "Heat map of live bytes, one row for each rank; the table below holds the peaks.",
  });
  const holder = h(
    "div",
    { class: "map", tabindex: "0", role: "region", "aria-label": "Heat map" },
    canvas,
  );
  const scale = h("div", { class: "heat-axis", "aria-hidden": "true" });
  const status = h(
    "p",
    { class: "readout", role: "status" },
    "Point at the map for figures; a click shows that row in every view.",
  );
  const labels = withoutCommonEnds(meta.lanes.map((_, i) => laneName(meta, i)));
  let order = rowOrder(map, "named");
  let width = 0;
  const left = (): number => (width < 500 ? LABEL_NARROW : LABEL);

  const draw = drawToWidth(holder, (now) => {
    width = now;
    drawHeat(canvas, map, {
      width,
      row,
      left: left(),
      order,
      label: (i) => labels[i]!,
      chosen: state.lane.index,
    });
    scale.style.paddingLeft = `${left()}px`;
  });
  onTheme(draw);
  state.follow(canvas, ["lane"], draw);
  const binTime = (bin: number): string => {
    return heat.clock === "common"
      ? fmt.duration((heat.span_us * bin) / heat.bins)
      : `${fmt.percent(bin / heat.bins)} of the events`;
  };
  replace(scale, ...[0, heat.bins / 2, heat.bins].map((bin) => h("span", {}, binTime(bin))));
  const rowAt = (y: number): number | undefined => order[Math.floor(y / row)];
  canvas.addEventListener("mousemove", (e) => {
    const r = rowAt(e.offsetY);
    const bin = Math.min(
      map.bins - 1,
      Math.max(0, Math.floor(((e.offsetX - left()) / (width - left())) * map.bins)),
    );
    if (r !== undefined)
      status.textContent = `${laneName(meta, r)}, ${binTime(bin)} to ${binTime(bin + 1)}: at most ${fmt.bytes(map.rows[r]![bin]!)} live`;
  });
  canvas.addEventListener("click", (e) => {
    const r = rowAt(e.offsetY);
    if (r !== undefined) void state.setLane(r);
  });

  const table = peaksTable(state);
  const setOrder = (kind: RowOrder): void => {
    order = rowOrder(map, kind);
    table.show(order);
    draw();
  };
  table.show(order);
  const clock =
    heat.clock === "common"
      ? "All rows share one clock."
      : "The inputs did not run at the same time, or have no clock: a row goes from its first event to its last.";
  const said = describeDivergence(map, (i) => laneName(meta, i), binTime);
  return [
    h("p", {}, said),
    h(
      "p",
      { class: "sub" },
      `${fmt.count(cnt)} rows. Skew of the peaks: ${fmt.percent(skew(map))} (highest less lowest, of the highest). ${clock}`,
    ),
    h(
      "div",
      { class: "tools" },
      cnt > 2
        ? choice(
            "Order",
            [
              { value: "named", label: "As named" },
              { value: "peak", label: "Highest peak first" },
              { value: "apart", label: "Farthest from the median first" },
            ],
            "named",
            setOrder,
          )
        : null,
      h(
        "span",
        { class: "ramp" },
        fmt.bytes(map.min),
        h("span", { class: "ramp-bar", "aria-hidden": "true" }),
        fmt.bytes(map.max),
      ),
    ),
    holder,
    scale,
    status,
    table.root,
  ];
}

/** The same as figures: a table whose rows follow the order of the map. */
function peaksTable(state: State): { root: HTMLElement; show: (order: number[]) => void } {
  const { meta } = state.data;
  const body = h("tbody", {});
  const more = h("div", { class: "buttons" });
  const rowOf = (i: number): HTMLElement => {
    const l = meta.lanes[i]!;
    return h(
      "tr",
      {},
      h(
        "th",
        { scope: "row", class: "text" },
        button(laneName(meta, i), () => void state.setLane(i), { class: "link" }),
      ),
      h("td", { class: "number", "data-value": l.peak_bytes }, fmt.bytes(l.peak_bytes)),
      h("td", { class: "number", "data-value": l.live_bytes }, fmt.bytes(l.live_bytes)),
      h("td", { class: "number" }, fmt.count(l.events)),
    );
  };
  const show = (order: number[], cnt = TABLE_SHOWN): void => {
    replace(body, ...order.slice(0, cnt).map(rowOf));
    replace(
      more,
      order.length > cnt
        ? button(`Show all ${fmt.count(order.length)}`, () => show(order, order.length))
        : null,
    );
  };
  const root = h(
    "div",
    {},
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Peaks by rank" },
      h(
        "table",
        {},
        h("caption", {}, "Peaks"),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col", class: "text" }, "Rank"),
            ...["Peak", "Live at the end", "Events"].map((n) =>
              h("th", { scope: "col", class: "number" }, n),
            ),
          ),
        ),
        body,
      ),
    ),
    more,
  );
  return { root, show: (order) => show(order) };
}

interface HeatLayout {
  width: number;
  row: number;
  left: number;
  order: number[];
  label: (row: number) => string;
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
  const r = devicePixelRatio;
  canvas.width = Math.round(at.width * r);
  canvas.height = Math.round(map.rows.length * at.row * r);
  canvas.style.width = `${at.width}px`;
  canvas.style.height = `${map.rows.length * at.row}px`;
  const ctx = canvas.getContext("2d")!;
  ctx.imageSmoothingEnabled = false;
  ctx.drawImage(
    picture(map, at.order),
    Math.round(at.left * r),
    0,
    canvas.width - Math.round(at.left * r),
    canvas.height,
  );
  ctx.fillStyle = t.paper;
  if (at.row >= GAP_FROM)
    for (let y = 1; y <= map.rows.length; y++)
      ctx.fillRect(0, Math.round(y * at.row * r) - Math.round(r), canvas.width, Math.round(r));
  ctx.font = `${12 * r}px ${getComputedStyle(document.body).fontFamily}`;
  ctx.textBaseline = "middle";
  const every = Math.ceil(LABEL_STEP / at.row);
  at.order.forEach((index, y) => {
    const isChosen = index === at.chosen;
    if (isChosen) {
      ctx.fillStyle = t.accent;
      ctx.fillRect((at.left - 5) * r, y * at.row * r, 4 * r, Math.max(2, at.row - 1) * r);
    }
    if (y % every !== 0) return;
    ctx.fillStyle = isChosen ? t.ink : t.muted;
    let text = at.label(index);
    while (text.length > 4 && ctx.measureText(text).width > (at.left - 12) * r)
      text = `…${text.slice(2)}`;
    // A label of several rows stands beside the first of them.
    ctx.fillText(text, 0, (y * at.row + (every > 1 ? LABEL_STEP : at.row) / 2) * r);
  });
}

/** One pixel for each cell. */
function picture(map: HeatMap, order: number[]): HTMLCanvasElement {
  const shades = ramp();
  const image = new ImageData(map.bins, order.length);
  const pixels = new Uint32Array(image.data.buffer);
  const span = map.max - map.min || 1;
  order.forEach((index, y) => {
    const values = map.rows[index]!;
    for (let bin = 0; bin < map.bins; bin++)
      pixels[y * map.bins + bin] =
        shades[Math.round(((values[bin]! - map.min) / span) * (SHADES - 1))]!;
  });
  const canvas = document.createElement("canvas");
  canvas.width = map.bins;
  canvas.height = order.length;
  canvas.getContext("2d")!.putImageData(image, 0, 0);
  return canvas;
}

function describeDivergence(
  map: HeatMap,
  name: (row: number) => string,
  binTime: (bin: number) => string,
): string {
  if (map.rows.length === 2) {
    const bin = firstGap(map);
    if (bin === null) return "The two rows stay within a tenth of the highest point of each other.";
    return `The two rows part at ${binTime(bin)}: ${name(0)} holds ${fmt.bytes(map.rows[0]![bin]!)}, ${name(1)} ${fmt.bytes(map.rows[1]![bin]!)}.`;
  }
  const apart = firstDivergence(map);
  if (!apart) return "No row stays more than a tenth of the highest point away from the median.";
  return `First to leave the others: ${name(apart.row)}. At ${binTime(apart.bin)} it holds ${fmt.bytes(apart.bytes)} where the median is ${fmt.bytes(apart.median)}.`;
}
