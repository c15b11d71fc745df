// What other allocator settings would have reserved: their curves over each other, and the table of
// `stormlog whatif`.
import type uPlot from "uplot";
import { onTheme, theme } from "../draw/colors.ts";
import { absent, h, replace } from "../draw/dom.ts";
import { chip, legendItem, numberCell, rowName, scrolled, tableHead } from "../draw/parts.ts";
import { makePlot, type Plot } from "../draw/plot.ts";
import * as fmt from "../model/format.ts";
import type { WhatifRowMeta } from "../model/meta.ts";
import { Whatif } from "../model/whatif.ts";
import type { State } from "../state.ts";

export async function whatifView(state: State): Promise<HTMLElement[]> {
  const { lane } = state;
  const cols = await state.data.section("whatif", lane.index);
  const why = lane.meta.absent["whatif"] ?? "No other allocator settings were tried.";
  if (!cols || !lane.meta.whatif) return [absent(why)];
  return new WhatifView(state, new Whatif(lane.meta.whatif, cols, lane.meta.events)).elements();
}

const COLORS = 11;

/** The recorded curve has the colour of the text, as the reference for the others. */
function colorOf(curve: number): string {
  const t = theme();
  return curve === 0 ? t.ink : t.series[(curve - 1) % COLORS]!;
}

class WhatifView {
  private readonly state: State;
  private readonly whatif: Whatif;
  private readonly plot: Plot;
  private readonly legend = h("ul", { class: "legend" });
  private readonly readout = h("p", { class: "readout" });
  private readonly table = scrolled("The settings in figures");

  constructor(state: State, whatif: Whatif) {
    this.state = state;
    this.whatif = whatif;
    this.plot = this.makePlot();
    this.paint();
    state.follow(this.plot.root, ["range", "axis"], this.plot.redraw);
    onTheme(() => this.paint());
  }

  elements(): HTMLElement[] {
    const { says } = this.whatif.meta;
    const sentence = (text: string): HTMLElement[] => (text ? [h("p", {}, `${text}.`)] : []);
    const paste = says.paste ? [h("p", {}, h("code", {}, says.paste))] : [];
    return [
      ...sentence(says.best),
      ...paste,
      this.legend,
      this.plot.root,
      this.readout,
      this.table,
      ...this.sameRows(),
      ...[says.failure, says.remedy].flatMap(sentence),
      ...[says.proof, says.limit, says.floor, says.caveat]
        .filter((text) => text !== "")
        .map((text) => h("p", { class: "sub" }, `${text}.`)),
    ];
  }

  private sameRows(): HTMLElement[] {
    const names = this.whatif.same();
    if (names.length === 0) return [];
    return [
      h("p", { class: "sub" }, "The same as recorded: ", ...breakable(names.join("; ")), "."),
    ];
  }

  private makePlot(): Plot {
    const { state, whatif } = this;
    return makePlot(state, {
      label: "Reserved bytes under other allocator settings; the table below holds their peaks.",
      height: 300,
      series: () => this.series(),
      data: (width, from, to) => this.fold(width, from, to),
      top: () => whatif.top(),
      over: (u) => this.drawEnds(u),
      hover: (x) => {
        this.readout.textContent = x === null ? "" : this.describe(state.axis.event(x));
      },
      click: (x) => state.setInstant(state.axis.event(x)),
    });
  }

  /** The recorded curve is drawn first, so that it is below the others, and wide. */
  private series(): uPlot.Series[] {
    const t = theme();
    const line = { points: { show: false } };
    return [
      ...this.whatif.meta.curves.map((c, i) => ({
        ...line,
        stroke: colorOf(i),
        width: i === 0 ? 3.5 : c.row === this.whatif.meta.best_row ? 2.25 : 1.25,
      })),
      { ...line, stroke: t.muted, width: 1, dash: [6, 4] },
      { ...line, stroke: t.limit, width: 1.25, dash: [6, 4] },
    ];
  }

  private fold(width: number, from: number, to: number): uPlot.AlignedData {
    const { whatif, state } = this;
    const { floor_bytes, limit_bytes, curves } = whatif.meta;
    const edge = (i: number): number => from + ((to - from) * i) / width;
    const x = Float64Array.from({ length: width }, (_, i) => edge(i));
    const bins = Uint32Array.from({ length: width + 1 }, (_, i) =>
      whatif.binOf(state.axis.event(edge(i))),
    );
    return [
      x,
      ...curves.map((_, c) => x.map((_v, i) => whatif.highest(c, bins[i]!, bins[i + 1]!))),
      x.map(() => floor_bytes),
      x.map(() => limit_bytes ?? NaN),
    ];
  }

  /** A dot where a request failed. */
  private drawEnds(u: uPlot): void {
    const { whatif, state } = this;
    const { left, width } = u.bbox;
    for (let c = whatif.meta.curves.length - 1; c >= 0; c--) {
      const bin = whatif.lastOf(c);
      if (bin === null) continue;
      const end = bin + 1 < whatif.bins ? whatif.eventOf(bin + 1) : state.lane.meta.events;
      const x = u.valToPos(state.axis.x(end), "x", true);
      const y = u.valToPos(whatif.highest(c, bin, bin), "y", true);
      if (x < left || x > left + width + 1) continue;
      u.ctx.fillStyle = colorOf(c);
      u.ctx.beginPath();
      u.ctx.arc(x, y, 4 * devicePixelRatio, 0, 2 * Math.PI);
      u.ctx.fill();
    }
  }

  private describe(event: number): string {
    const { whatif, state } = this;
    const bin = whatif.binOf(event);
    const values = whatif.meta.curves.map((_, c) => {
      const bytes = whatif.highest(c, bin, bin);
      return `${whatif.nameOf(c)}: ${Number.isNaN(bytes) ? "failed" : fmt.bytes(bytes)}`;
    });
    return `${state.lane.momentText(event)}: ${values.join("; ")}`;
  }

  private paint(): void {
    const { whatif } = this;
    const { floor_bytes, limit_bytes, curves } = whatif.meta;
    const t = theme();
    const limit =
      limit_bytes === null ? null : legendItem(t.limit, `limit, ${fmt.bytes(limit_bytes)}`, true);
    replace(
      this.legend,
      ...curves.map((_, i) => legendItem(colorOf(i), whatif.nameOf(i), true)),
      legendItem(t.muted, `no setting can reserve less, ${fmt.bytes(floor_bytes)}`, true),
      limit,
    );
    replace(this.table, settingsTable(whatif));
    this.plot.rebuild();
  }
}

/** The text, which may be broken after commas. */
function breakable(text: string): (HTMLElement | string)[] {
  return text.split(/(?<=,)/).flatMap((part, i) => (i === 0 ? [part] : [h("wbr"), part]));
}

function settingsTable(whatif: Whatif): HTMLElement {
  const { rows: all, best_row } = whatif.meta;
  const rows = whatif.differing().map((i) => settingsRow(all[i]!, i === best_row));
  return h(
    "table",
    { class: "ledger" },
    h("caption", {}, "What each setting would have reserved"),
    tableHead("Setting", "Reserved peak", "Waste peak", "Retries", "Driver calls"),
    h("tbody", {}, ...rows),
  );
}

function settingsRow(row: WhatifRowMeta, isBest: boolean): HTMLElement {
  const notes = [
    isBest ? "the best one" : "",
    row.is_bound ? "not a setting, shows what is possible" : "",
    row.range,
    row.failure,
  ].filter((note) => note !== "");
  const note = notes.length === 0 ? null : h("span", { class: "sub" }, notes.join("; "));
  const mark = row.curve === null ? null : chip(colorOf(row.curve));
  return h(
    "tr",
    {},
    rowName(mark, " ", h("span", { class: "name" }, ...breakable(row.name)), " ", note),
    numberCell(row.fits ? fmt.bytes(row.peak_bytes) : "fails", row.fits ? row.peak_bytes : ""),
    numberCell(fmt.bytes(row.waste_bytes), row.waste_bytes),
    numberCell(fmt.count(row.retries)),
    numberCell(fmt.count(row.driver_calls)),
  );
}
