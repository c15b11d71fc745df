// What fills the card over time: the rows of a recording's ledger, or the counters that samples
// hold.
import type uPlot from "uplot";
import { onTheme, theme, type Theme } from "../draw/colors.ts";
import { absent, choice, h, replace } from "../draw/dom.ts";
import { chip, legendItem, numberCell, rowName, scrolled, tableHead } from "../draw/parts.ts";
import { makePlot, type Plot } from "../draw/plot.ts";
import * as fmt from "../model/format.ts";
import { Ledger } from "../model/ledger.ts";
import type { State } from "../state.ts";
import { countersView } from "./counters.ts";

export async function ledgerView(state: State): Promise<HTMLElement[]> {
  const [ledger, counters] = [await state.lane.ledger(), await countersView(state)];
  if (ledger) return [...new LedgerView(state, ledger).elements(), ...counters];
  if (counters.length > 0) return counters;
  return [absent(state.lane.meta.absent["ledger"] ?? "This input holds no readings of counters.")];
}

const TAG_COLORS = [0, 2, 4, 8, 9, 5, 10];
const LIBRARY_COLORS = [1, 3, 10, 5, 8, 9];

/** Tensors and libraries have a colour each, everything else the same one in every page. */
function rowColors(ledger: Ledger, t: Theme): string[] {
  const fixed: Record<string, string> = {
    cache: t.library,
    context: t.series[7]!,
    "other-processes": t.series[6]!,
    driver: t.rest,
    rest: t.ink,
  };
  const seen: Record<string, number> = {};
  return ledger.meta.rows.map(({ kind }) => {
    const nth = (seen[kind] = (seen[kind] ?? -1) + 1);
    const own = kind === "library" ? LIBRARY_COLORS : TAG_COLORS;
    return fixed[kind] ?? t.series[own[nth % own.length]!]!;
  });
}

/** Stacked bars of the rows, one per pixel column. */
function drawStack(u: uPlot, ledger: Ledger, moments: Int32Array): void {
  const colors = rowColors(ledger, theme());
  const { left, top, width, height } = u.bbox;
  const most = u.scales["y"]!.max!;
  const y = (bytes: number): number => Math.round(top + height * (1 - bytes / most));
  const edge = (i: number): number => Math.round(left + (width * i) / moments.length);
  for (let row = 0; row < colors.length; row++) {
    u.ctx.fillStyle = colors[row]!;
    moments.forEach((moment, i) => {
      if (moment < 0) return;
      const base = sumBelow(ledger, row, moment);
      const bytes = ledger.bytes(row, moment) ?? 0;
      const upper = y(base + bytes);
      if (bytes > 0) u.ctx.fillRect(edge(i), upper, edge(i + 1) - edge(i), y(base) - upper);
    });
  }
}

function sumBelow(ledger: Ledger, row: number, moment: number): number {
  let sum = 0;
  for (let r = 0; r < row; r++) sum += ledger.bytes(r, moment) ?? 0;
  return sum;
}

/** The moment of a ledger in words. Only inputs with a clock have one. */
function whenText(ledger: Ledger, moment: number): string {
  return `${fmt.duration(ledger.time(moment))} after the start`;
}

function describe(ledger: Ledger, moment: number): string {
  const rows = ledger.meta.rows
    .map((row, i) => ({ name: row.name, bytes: ledger.bytes(i, moment) }))
    .filter((r) => r.bytes !== 0)
    .map((r) => `${r.name} ${fmt.bytes(r.bytes)}`);
  const used = fmt.bytes(ledger.used(moment));
  return `${whenText(ledger, moment)}: ${used} in use: ${rows.join(", ")}`;
}

/**
 * The axis reaches the size of the card once a third of it was in use; before that, all curves
 * would look flat.
 */
function isCardInSight(ledger: Ledger): boolean {
  const total = ledger.meta.total_bytes;
  return total !== null && ledger.mostUsed() * 3 > total;
}

type Scale = "used" | "card";

class LedgerView {
  private readonly state: State;
  private readonly ledger: Ledger;
  private readonly total: number | null;
  private readonly plot: Plot;
  private scale: Scale;
  private moments: Int32Array = new Int32Array(0);
  private top = 1;
  private chosen: number;

  private readonly readout = h("p", { class: "readout" });
  private readonly table = scrolled("The rows of the ledger");
  private readonly legend = h("ul", { class: "legend" });
  private readonly slider: HTMLInputElement;

  constructor(state: State, ledger: Ledger) {
    this.state = state;
    this.ledger = ledger;
    this.total = ledger.meta.total_bytes;
    this.scale = isCardInSight(ledger) ? "card" : "used";
    this.chosen = ledger.meta.fullest;
    this.slider = h("input", {
      type: "range",
      min: "0",
      max: String(ledger.moments - 1),
      step: "1",
      on: { input: () => this.choose(Number(this.slider.value)) },
    });
    this.plot = this.makePlot();
    this.paint();
    this.choose(this.chosen);
    this.follow();
  }

  elements(): HTMLElement[] {
    const moment = h("label", { class: "field moment" }, h("span", {}, "Moment"), this.slider);
    const tools = h("div", { class: "tools" }, this.scaleChoice(), moment);
    return [tools, this.legend, this.plot.root, this.readout, this.table];
  }

  private scaleChoice(): HTMLElement | null {
    if (this.total === null) return null;
    const scales: { value: Scale; label: string }[] = [
      { value: "used", label: "What is in use" },
      { value: "card", label: "The whole card" },
    ];
    return choice("Scale", scales, this.scale, (v) => {
      this.scale = v;
      this.plot.rebuild();
    });
  }

  private follow(): void {
    const { ledger, plot, state } = this;
    const axis = state.lane.axis("time");
    state.follow(plot.root, ["range", "axis"], plot.redraw);
    state.follow(plot.root, ["instant"], () =>
      this.choose(ledger.at(axis.timeOf(Math.max(0, state.instant)))),
    );
    onTheme(() => this.paint());
  }

  private makePlot(): Plot {
    const { ledger, state } = this;
    const axis = state.lane.axis("time");
    return makePlot(state, {
      label: "What fills the card over time; the table below holds the rows at the chosen moment.",
      height: 300,
      byTime: true,
      series: () => [
        { stroke: theme().ink, width: 1, points: { show: false } },
        { stroke: theme().limit, width: 1.25, dash: [6, 4], points: { show: false } },
      ],
      data: (width, from, to) => this.fold(width, from, to),
      top: () => this.top,
      under: (u) => drawStack(u, ledger, this.moments),
      over: (u) => drawChosen(u, ledger.time(this.chosen) / 1e6),
      hover: (x) => {
        this.readout.textContent = describe(ledger, x === null ? this.chosen : ledger.at(x * 1e6));
      },
      click: (x) => {
        this.choose(ledger.at(x * 1e6));
        state.setInstant(axis.event(x));
      },
    });
  }

  private fold(width: number, from: number, to: number): uPlot.AlignedData {
    const { ledger, total } = this;
    const step = (to - from) / width;
    const edges = Float64Array.from({ length: width + 1 }, (_, i) => from + step * i);
    this.moments = ledger.fold(edges.map((v) => v * 1e6));
    const used = Float64Array.from(this.moments, (m) => (m < 0 ? NaN : ledger.usedMax(m)));
    const highest = used.reduce((m, v) => (v > m ? v : m), 1);
    this.top = (this.scale === "card" && total !== null ? total : highest) * 1.06;
    const middles = edges.subarray(0, width).map((v) => v + step / 2);
    return [middles, used, used.map(() => total ?? NaN)];
  }

  private choose(moment: number): void {
    this.chosen = moment;
    this.slider.value = String(moment);
    this.slider.setAttribute("aria-valuetext", whenText(this.ledger, moment));
    this.readout.textContent = describe(this.ledger, moment);
    replace(this.table, rowTable(this.ledger, moment));
    this.plot.redraw();
  }

  private paint(): void {
    const { ledger, total } = this;
    const t = theme();
    const colors = rowColors(ledger, t);
    const items = ledger.meta.rows.map((row, i) =>
      ledger.highest(i) === 0 ? null : legendItem(colors[i]!, row.name),
    );
    const card = total === null ? null : legendItem(t.limit, `the card, ${fmt.bytes(total)}`, true);
    replace(this.legend, ...items, card);
    replace(this.table, rowTable(ledger, this.chosen));
    this.plot.rebuild();
  }
}

function drawChosen(u: uPlot, x: number): void {
  const { top, height, left, width } = u.bbox;
  const at = u.valToPos(x, "x", true);
  if (at < left || at > left + width) return;
  u.ctx.strokeStyle = theme().accent;
  u.ctx.lineWidth = 1.5 * devicePixelRatio;
  u.ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
  u.ctx.beginPath();
  u.ctx.moveTo(at, top);
  u.ctx.lineTo(at, top + height);
  u.ctx.stroke();
  u.ctx.setLineDash([]);
}

function rowTable(ledger: Ledger, moment: number): HTMLElement {
  const total = ledger.meta.total_bytes;
  const used = ledger.used(moment);
  const colors = rowColors(ledger, theme());
  const share = (bytes: number | null): string =>
    bytes === null || total === null ? "" : fmt.percent(bytes / total);
  const line = (name: HTMLElement, bytes: number | null, highest: string): HTMLElement =>
    h(
      "tr",
      {},
      name,
      numberCell(fmt.bytes(bytes), bytes ?? ""),
      numberCell(share(bytes)),
      numberCell(highest),
    );
  const free = used === null || total === null ? null : Math.max(0, total - used);
  const rows = ledger.meta.rows.map((row, i) => {
    const name = rowName(
      chip(colors[i]!),
      ` ${row.name} `,
      h("span", { class: "sub" }, row.meaning),
    );
    return line(name, ledger.bytes(i, moment), fmt.bytes(ledger.highest(i)));
  });
  return h(
    "table",
    { class: "ledger" },
    h("caption", {}, `The card ${whenText(ledger, moment)}`),
    tableHead("Row", "Bytes", "Of the card", "Highest"),
    h("tbody", {}, ...rows),
    h(
      "tfoot",
      {},
      line(rowName("In use on the card"), used, fmt.bytes(ledger.mostUsed())),
      line(rowName("Free"), free, ""),
    ),
  );
}
