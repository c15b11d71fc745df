// What the device's own counters said, beside what the allocator held.
import type uPlot from "uplot";
import { onTheme, theme } from "../draw/colors.ts";
import { absent, h } from "../draw/dom.ts";
import { makePlot, xText } from "../draw/plot.ts";
import * as fmt from "../model/format.ts";
import { readingsOf } from "../model/readings.ts";
import type { State } from "../state.ts";
import { chip } from "./timeline.ts";

export async function ledgerView(state: State): Promise<HTMLElement[]> {
  const cols = await state.lane.counters();
  if (!cols || cols.value.length === 0) return [absent(state.lane.meta.absent["ledger"] ?? "This input holds no readings of counters.")];
  const series = state.lane.meta.counters.map((name, i) => ({ name, readings: readingsOf(cols, i) })).filter((s) => s.readings.time.length > 0);
  const readout = h("p", { class: "readout" });
  let top = 1;
  const plot = makePlot(state, {
    label: "Counters of the device over time; the table below holds their last and highest values.",
    height: 280,
    series: () => series.map((_, i) => ({ stroke: theme().series[i % 11]!, width: 1.5, points: { show: false } })),
    data: (width, from, to) => {
      const axis = state.axis;
      const edges = Float64Array.from({ length: width + 1 }, (_, i) => from + ((to - from) * i) / width);
      const us = edges.map((v) => (axis.kind === "time" ? v * 1e6 : axis.timeOf(v)));
      const x = edges.subarray(0, width);
      const rows = series.map((s) => Float64Array.from(x, (_, i) => s.readings.highest(us[i]!, us[i + 1]!)));
      top = Math.max(1, ...rows.map((row) => row.reduce((m, v) => (v > m ? v : m), 0))) * 1.06;
      return [x, ...rows] as uPlot.AlignedData;
    },
    top: () => top,
    hover: (x) => {
      if (x === null) return;
      const us = state.axisKind === "time" ? x * 1e6 : state.axis.timeOf(x);
      readout.textContent = `${xText(state, x)}: ${series.map((s) => `${s.name} ${fmt.bytes(s.readings.at(us))}`).join(", ")}`;
    },
    click: (x) => state.setInstant(state.axis.event(x)),
  });
  state.follow(plot.root, ["range"], plot.redraw);
  state.follow(plot.root, ["axis"], plot.rebuild);
  onTheme(plot.rebuild);
  const t = theme();
  return [
    h("ul", { class: "legend" }, ...series.map((s, i) => h("li", { class: "line" }, chip(t.series[i % 11]!), s.name))),
    plot.root, readout,
    h("table", {}, h("caption", {}, "Counters over the whole run"),
      h("thead", {}, h("tr", {}, ...["Counter", "First", "Highest", "Last"].map((n, i) => h("th", { scope: "col", class: i === 0 ? "text" : "number" }, n)))),
      h("tbody", {}, ...series.map((s) => h("tr", {}, h("th", { scope: "row", class: "text" }, s.name),
        ...[s.readings.value[0]!, s.readings.value.reduce((m, v) => Math.max(m, v), 0), s.readings.value[s.readings.value.length - 1]!].map((v) => h("td", { class: "number" }, fmt.bytes(v))))))),
  ];
}
