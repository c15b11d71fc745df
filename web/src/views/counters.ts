// Lines of the counters as they were read, with the first, highest and last of each.
import type uPlot from "uplot";
import { onTheme, theme } from "../draw/colors.ts";
import { h } from "../draw/dom.ts";
import { legendItem, numberCell, rowName, scrolled, tableHead } from "../draw/parts.ts";
import { makePlot, type Plot } from "../draw/plot.ts";
import * as fmt from "../model/format.ts";
import { readingsOf, type Readings } from "../model/readings.ts";
import { sampleLine, samplesIn } from "../model/sample_line.ts";
import type { State } from "../state.ts";

interface Series {
  name: string;
  readings: Readings;
}

const COLORS = 11;

function colorOf(index: number): string {
  return theme().series[index % COLORS]!;
}

/** Empty where nothing was read. */
export async function countersView(state: State): Promise<HTMLElement[]> {
  const cols = await state.lane.counters();
  if (!cols || cols.value.length === 0) return [];
  const read = state.lane.meta.counters
    .map((name, i) => ({ name, readings: readingsOf(cols, i) }))
    .filter((s) => s.readings.time.length > 0);
  const series = read.filter((s) => s.readings.value.some((v) => v > 0));
  const readout = h("p", { class: "readout" });
  const plot = counterPlot(state, series, readout);
  state.follow(plot.root, ["range", "axis"], plot.redraw);
  onTheme(plot.rebuild);
  return [
    h("h3", { class: "later" }, "Counters"),
    h("ul", { class: "legend" }, ...series.map((s, i) => legendItem(colorOf(i), s.name, true))),
    plot.root,
    readout,
    scrolled("The counters in figures", counterTable(read)),
  ];
}

function counterPlot(state: State, series: Series[], readout: HTMLElement): Plot {
  let top = 1;
  const fold = (width: number, from: number, to: number): uPlot.AlignedData => {
    const edge = (i: number): number => from + ((to - from) * i) / width;
    const x = Float64Array.from({ length: width }, (_, i) => edge(i));
    const rows = series.map(({ readings }) => {
      const at = readings.time.map((us) => us / 1e6);
      return state.lane.meta.is_sampled && samplesIn(at, from, to) < width
        ? sampleLine(at, readings.value, from, to, width)
        : x.map((_, i) => readings.highest(edge(i) * 1e6, edge(i + 1) * 1e6));
    });
    top = Math.max(1, ...rows.map((row) => row.reduce((m, v) => (v > m ? v : m), 0))) * 1.06;
    return [x, ...rows];
  };
  const describe = (x: number): string => {
    const us = x * 1e6;
    const values = series.map((s) => `${s.name} ${fmt.bytes(s.readings.at(us))}`);
    return `${fmt.duration(us)} after the start: ${values.join(", ")}`;
  };
  return makePlot(state, {
    label: "Counters over time; the table below holds their last and highest values.",
    height: 280,
    byTime: true,
    series: () =>
      series.map((_, i) => ({ stroke: colorOf(i), width: 1.5, points: { show: false } })),
    data: fold,
    top: () => top,
    hover: (x) => {
      if (x !== null) readout.textContent = describe(x);
    },
    click: (x) => state.setInstant(state.lane.axis("time").event(x)),
  });
}

function counterTable(series: Series[]): HTMLElement {
  const row = ({ name, readings: { value } }: Series): HTMLElement => {
    const highest = value.reduce((m, v) => Math.max(m, v), 0);
    const shown = [value[0]!, highest, value[value.length - 1]!];
    return h("tr", {}, rowName(name), ...shown.map((v) => numberCell(fmt.bytes(v))));
  };
  return h(
    "table",
    { class: "counters" },
    h("caption", {}, "Counters over the whole run"),
    tableHead("Counter", "First", "Highest", "Last"),
    h("tbody", {}, ...series.map(row)),
  );
}
