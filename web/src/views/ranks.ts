// Several devices or inputs beside each other as a heat map.
import { onTheme, theme } from "../draw/colors.ts";
import { absent, button, h, onWidth, perFrame } from "../draw/dom.ts";
import * as fmt from "../model/format.ts";
import { firstDivergence, heatMap, skew } from "../model/ranks.ts";
import type { State } from "../state.ts";
import { laneName } from "./top.ts";

export async function ranksView(state: State): Promise<HTMLElement[]> {
  const { meta } = state.data;
  const heat = meta.heat;
  if (!heat) return [absent("There is one device in one input, so there is nothing to compare. Name several inputs to see ranks beside each other.")];
  const map = heatMap(await Promise.all(meta.lanes.map((_, i) => state.data.section("heat", i))), heat.bins);
  const row = Math.max(6, Math.min(24, Math.floor(480 / map.rows.length)));
  const canvas = h("canvas", { class: "heat", role: "img", "aria-label": "Heat map of live bytes, one row for each rank; the table below holds the peaks." });
  const holder = h("div", {}, canvas);
  const status = h("p", { class: "readout", role: "status" }, "Point at the map for figures.");
  let width = 0;

  const draw = perFrame(() => {
    if (width === 0) return;
    const t = theme();
    const r = devicePixelRatio;
    canvas.width = Math.round(width * r);
    canvas.height = Math.round(map.rows.length * row * r);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${map.rows.length * row}px`;
    const ctx = canvas.getContext("2d")!;
    ctx.scale(r, r);
    map.rows.forEach((values, y) => {
      for (let bin = 0; bin < map.bins; bin++) {
        ctx.fillStyle = t.live;
        ctx.globalAlpha = map.max > 0 ? 0.05 + 0.95 * (values[bin]! / map.max) : 0.05;
        ctx.fillRect((bin * width) / map.bins, y * row, width / map.bins + 0.5, row - 1);
      }
    });
  });
  onWidth(holder, (w) => {
    width = w;
    draw();
  });
  onTheme(draw);
  const binTime = (bin: number): string => fmt.duration((heat.span_us * bin) / heat.bins);
  canvas.addEventListener("mousemove", (e) => {
    const r = Math.floor(e.offsetY / row);
    const bin = Math.min(map.bins - 1, Math.max(0, Math.floor((e.offsetX / width) * map.bins)));
    const values = map.rows[r];
    if (values) status.textContent = `${laneName(meta, r)}, ${binTime(bin)} to ${binTime(bin + 1)}: at most ${fmt.bytes(values[bin]!)} live`;
  });
  canvas.addEventListener("click", (e) => void state.setLane(Math.floor(e.offsetY / row)));

  const apart = firstDivergence(map);
  const clock = heat.clock === "common" ? "All rows share one clock." : "The inputs did not run at the same time: every row starts at its own first event.";
  const said = apart
    ? `${laneName(meta, apart.row)} is the first to leave the others: after ${binTime(apart.bin)} it holds ${fmt.bytes(apart.bytes)} where the median is ${fmt.bytes(apart.median)}.`
    : "No row stays more than a tenth of the highest point away from the median.";
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
