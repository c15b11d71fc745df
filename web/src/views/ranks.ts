// Several devices or inputs beside each other as a heat map.
import { onTheme, theme } from "../draw/colors.ts";
import { absent, button, h, onWidth, perFrame } from "../draw/dom.ts";
import * as fmt from "../model/format.ts";
import { firstDivergence, firstGap, heatMap, skew, withoutCommonEnds, type HeatMap } from "../model/ranks.ts";
import type { State } from "../state.ts";
import { laneName } from "./top.ts";

const LABEL = 150;

export async function ranksView(state: State): Promise<HTMLElement[]> {
  const { meta } = state.data;
  const heat = meta.heat;
  if (!heat) return [absent("There is one device in one input, so there is nothing to compare. Name several inputs to see ranks beside each other.")];
  const map = heatMap(await Promise.all(meta.lanes.map((_, i) => state.data.section("heat", i))), heat.bins);
  const row = Math.max(5, Math.min(26, Math.floor(520 / map.rows.length)));
  const canvas = h("canvas", { class: "heat", role: "img", "aria-label": "Heat map of live bytes, one row for each rank; the table below holds the peaks." });
  const holder = h("div", {}, canvas);
  const status = h("p", { class: "readout", role: "status" }, "Point at the map for figures; a click shows that row in every view.");
  const labels = withoutCommonEnds(meta.lanes.map((_, i) => laneName(meta, i)));
  const left = row >= 13 ? LABEL : 0;
  let width = 0;

  const draw = perFrame(() => {
    if (width > 0) drawHeat(canvas, map, { width, row, left, label: (i) => labels[i]!, chosen: state.lane.index });
  });
  onWidth(holder, (w) => {
    width = w;
    draw();
  });
  onTheme(draw);
  state.follow(canvas, ["lane"], draw);
  const binTime = (bin: number): string => {
    return heat.clock === "common" ? fmt.duration((heat.span_us * bin) / heat.bins) : `${fmt.percent(bin / heat.bins)} of the events`;
  };
  canvas.addEventListener("mousemove", (e) => {
    const r = Math.floor(e.offsetY / row);
    const bin = Math.min(map.bins - 1, Math.max(0, Math.floor(((e.offsetX - left) / (width - left)) * map.bins)));
    const values = map.rows[r];
    if (values) status.textContent = `${laneName(meta, r)}, ${binTime(bin)} to ${binTime(bin + 1)}: at most ${fmt.bytes(values[bin]!)} live`;
  });
  canvas.addEventListener("click", (e) => void state.setLane(Math.min(map.rows.length - 1, Math.floor(e.offsetY / row))));

  const clock = heat.clock === "common" ? "All rows share one clock."
    : "The inputs did not run at the same time, or have no clock: a row goes from its first event to its last.";
  const said = describeDivergence(map, (i) => laneName(meta, i), binTime);
  return [
    h("p", {}, said),
    h("p", { class: "sub" }, `Skew of the peaks: ${fmt.percent(skew(map))} (highest less lowest, of the highest). ${clock}`),
    holder, status,
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Peaks by rank" },
      h("table", {}, h("caption", {}, "Peaks"),
        h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "text" }, "Rank"), ...["Peak", "Live at the end", "Events"].map((n) => h("th", { scope: "col", class: "number" }, n)))),
        h("tbody", {}, ...meta.lanes.map((l, i) => h("tr", {},
          h("th", { scope: "row", class: "text" }, button(laneName(meta, i), () => void state.setLane(i), { class: "link" })),
          h("td", { class: "number", "data-value": l.peak_bytes }, fmt.bytes(l.peak_bytes)),
          h("td", { class: "number", "data-value": l.live_bytes }, fmt.bytes(l.live_bytes)),
          h("td", { class: "number" }, fmt.count(l.events))))))),
  ];
}

interface HeatLayout {
  width: number;
  row: number;
  left: number;
  label: (row: number) => string;
  chosen: number;
}

function drawHeat(canvas: HTMLCanvasElement, map: HeatMap, at: HeatLayout): void {
  const t = theme();
  const r = devicePixelRatio;
  canvas.width = Math.round(at.width * r);
  canvas.height = Math.round(map.rows.length * at.row * r);
  canvas.style.width = `${at.width}px`;
  canvas.style.height = `${map.rows.length * at.row}px`;
  const ctx = canvas.getContext("2d")!;
  ctx.font = `${12 * r}px ${getComputedStyle(document.body).fontFamily}`;
  ctx.textBaseline = "middle";
  const edge = (bin: number): number => Math.round((at.left + ((at.width - at.left) * bin) / map.bins) * r);
  map.rows.forEach((values, y) => {
    const top = Math.round(y * at.row * r);
    const height = Math.round((y + 1) * at.row * r) - top - Math.round(r);
    for (let bin = 0; bin < map.bins; bin++) {
      ctx.fillStyle = t.live;
      ctx.globalAlpha = map.max > 0 ? 0.04 + 0.96 * (values[bin]! / map.max) : 0.04;
      ctx.fillRect(edge(bin), top, edge(bin + 1) - edge(bin), height);
    }
    ctx.globalAlpha = 1;
    if (at.left === 0) return;
    ctx.fillStyle = y === at.chosen ? t.ink : t.muted;
    let text = at.label(y);
    while (text.length > 4 && ctx.measureText(text).width > (at.left - 10) * r) text = `…${text.slice(2)}`;
    ctx.fillText(text, 0, top + height / 2);
  });
}

function describeDivergence(map: HeatMap, name: (row: number) => string, binTime: (bin: number) => string): string {
  if (map.rows.length === 2) {
    const bin = firstGap(map);
    if (bin === null) return "The two rows stay within a tenth of the highest point of each other.";
    return `The two rows part at ${binTime(bin)}: ${name(0)} holds ${fmt.bytes(map.rows[0]![bin]!)}, ${name(1)} ${fmt.bytes(map.rows[1]![bin]!)}.`;
  }
  const apart = firstDivergence(map);
  if (!apart) return "No row stays more than a tenth of the highest point away from the median.";
  return `First to leave the others: ${name(apart.row)}. At ${binTime(apart.bin)} it holds ${fmt.bytes(apart.bytes)} where the median is ${fmt.bytes(apart.median)}.`;
}
