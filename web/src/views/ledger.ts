// What fills the card over time: the rows of a recording's ledger, or the counters that samples hold.
import type uPlot from "uplot";
import { onTheme, theme, type Theme } from "../draw/colors.ts";
import { absent, choice, h, replace } from "../draw/dom.ts";
import { makePlot } from "../draw/plot.ts";
import * as fmt from "../model/format.ts";
import { Ledger } from "../model/ledger.ts";
import { readingsOf } from "../model/readings.ts";
import type { State } from "../state.ts";
import { chip } from "./timeline.ts";

export async function ledgerView(state: State): Promise<HTMLElement[]> {
  const [ledger, counters] = [await state.lane.ledger(), await countersView(state)];
  if (ledger) return [...stackedView(state, ledger), ...counters];
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

/** Bars of the rows on each other, one for each pixel column. */
function drawStack(u: uPlot, ledger: Ledger, moments: Int32Array): void {
  const colors = rowColors(ledger, theme());
  const { left, top, width, height } = u.bbox;
  const y = (bytes: number): number => Math.round(top + height * (1 - bytes / u.scales["y"]!.max!));
  const edges = Int32Array.from({ length: moments.length + 1 }, (_, i) =>
    Math.round(left + (width * i) / moments.length),
  );
  for (let row = 0; row < colors.length; row++) {
    u.ctx.fillStyle = colors[row]!;
    moments.forEach((moment, i) => {
      if (moment < 0) return;
      const base = sumBelow(ledger, row, moment);
      const bytes = ledger.bytes(row, moment) ?? 0;
      if (bytes > 0)
        u.ctx.fillRect(
          edges[i]!,
          y(base + bytes),
          edges[i + 1]! - edges[i]!,
          y(base) - y(base + bytes),
        );
    });
  }
}

function sumBelow(ledger: Ledger, row: number, moment: number): number {
  let sum = 0;
  for (let r = 0; r < row; r++) sum += ledger.bytes(r, moment) ?? 0;
  return sum;
}

function describe(ledger: Ledger, moment: number): string {
  const rows = ledger.meta.rows
    .map((row, i) => ({ name: row.name, bytes: ledger.bytes(i, moment) }))
    .filter((r) => r.bytes !== 0);
  return (
    `${fmt.duration(ledger.time(moment))} after the start: ${fmt.bytes(ledger.used(moment))} in use: ` +
    rows.map((r) => `${r.name} ${fmt.bytes(r.bytes)}`).join(", ")
  );
}

/** The card is drawn to its top once it was filled to a third; before that it would flatten everything. */
function isCardInSight(ledger: Ledger): boolean {
  const total = ledger.meta.total_bytes;
  return total !== null && ledger.mostUsed() * 3 > total;
}

function stackedView(state: State, ledger: Ledger): HTMLElement[] {
  const total = ledger.meta.total_bytes;
  const axis = state.lane.axis("time");
  let isWholeCard = isCardInSight(ledger);
  let moments: Int32Array = new Int32Array(0);
  let top = 1;
  let chosen = ledger.meta.fullest;
  const readout = h("p", { class: "readout" });
  const table = scrolled("The rows of the ledger");
  const slider = h("input", {
    type: "range",
    min: "0",
    max: String(ledger.moments - 1),
    step: "1",
    on: { input: () => choose(Number(slider.value)) },
  });
  const legend = h("ul", { class: "legend" });

  const plot = makePlot(state, {
    label: "What fills the card over time; the table below holds the rows at the chosen moment.",
    height: 300,
    byTime: true,
    series: () => [
      { stroke: theme().ink, width: 1, points: { show: false } },
      { stroke: theme().limit, width: 1.25, dash: [6, 4], points: { show: false } },
    ],
    data: (width, from, to) => {
      const edges = Float64Array.from(
        { length: width + 1 },
        (_, i) => from + ((to - from) * i) / width,
      );
      moments = ledger.fold(edges.map((v) => v * 1e6));
      const used = Float64Array.from(moments, (m) => (m < 0 ? NaN : ledger.usedMax(m)));
      top =
        (isWholeCard && total !== null ? total : used.reduce((m, v) => (v > m ? v : m), 1)) * 1.06;
      const half = (to - from) / width / 2;
      return [
        edges.subarray(0, width).map((v) => v + half),
        used,
        used.map(() => total ?? NaN),
      ] as uPlot.AlignedData;
    },
    top: () => top,
    under: (u) => drawStack(u, ledger, moments),
    over: (u) => drawChosen(u, ledger.time(chosen) / 1e6),
    hover: (x) => {
      readout.textContent = describe(ledger, x === null ? chosen : ledger.at(x * 1e6));
    },
    click: (x) => {
      choose(ledger.at(x * 1e6));
      state.setInstant(axis.event(x));
    },
  });
  const choose = (moment: number): void => {
    chosen = moment;
    slider.value = String(moment);
    slider.setAttribute("aria-valuetext", `${fmt.duration(ledger.time(moment))} after the start`);
    readout.textContent = describe(ledger, moment);
    replace(table, rowTable(ledger, moment));
    plot.redraw();
  };
  const paint = (): void => {
    const colors = rowColors(ledger, theme());
    replace(
      legend,
      ...ledger.meta.rows
        .map((row, i) => ({ row, i }))
        .filter(({ i }) => ledger.highest(i) !== 0)
        .map(({ row, i }) => h("li", {}, chip(colors[i]!), row.name)),
      total === null
        ? null
        : h("li", { class: "line" }, chip(theme().limit), `the card, ${fmt.bytes(total)}`),
    );
    replace(table, rowTable(ledger, chosen));
    plot.rebuild();
  };
  paint();
  choose(chosen);
  state.follow(plot.root, ["range", "axis"], plot.redraw);
  state.follow(plot.root, ["instant"], () =>
    choose(ledger.at(axis.timeOf(Math.max(0, state.instant)))),
  );
  onTheme(paint);
  const scale =
    total === null
      ? null
      : choice(
          "Scale",
          [
            { value: "used", label: "What is in use" },
            { value: "card", label: "The whole card" },
          ],
          isWholeCard ? "card" : "used",
          (v) => {
            isWholeCard = v === "card";
            plot.rebuild();
          },
        );
  const tools = h(
    "div",
    { class: "tools" },
    scale,
    h("label", { class: "field moment" }, h("span", {}, "Moment"), slider),
  );
  return [tools, legend, plot.root, readout, table];
}

/** A wide table on a small screen is moved sideways, by keyboard too. */
function scrolled(label: string, ...children: HTMLElement[]): HTMLElement {
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    ...children,
  );
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
  const figure = (bytes: number | null): HTMLElement =>
    h("td", { class: "number", "data-value": bytes ?? "" }, fmt.bytes(bytes));
  const share = (bytes: number | null): HTMLElement =>
    h(
      "td",
      { class: "number" },
      bytes === null || total === null ? "" : fmt.percent(bytes / total),
    );
  const line = (head: HTMLElement, bytes: number | null, highest: HTMLElement): HTMLElement =>
    h("tr", {}, head, figure(bytes), share(bytes), highest);
  const name = (...parts: (HTMLElement | string)[]): HTMLElement =>
    h("th", { scope: "row", class: "text" }, ...parts);
  return h(
    "table",
    { class: "ledger" },
    h("caption", {}, `The card ${fmt.duration(ledger.time(moment))} after the start`),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ...["Row", "Bytes", "Of the card", "Highest"].map((n, i) =>
          h("th", { scope: "col", class: i === 0 ? "text" : "number" }, n),
        ),
      ),
    ),
    h(
      "tbody",
      {},
      ...ledger.meta.rows.map((row, i) =>
        line(
          name(chip(colors[i]!), ` ${row.name} `, h("span", { class: "sub" }, row.meaning)),
          ledger.bytes(i, moment),
          h("td", { class: "number" }, fmt.bytes(ledger.highest(i))),
        ),
      ),
    ),
    h(
      "tfoot",
      {},
      line(
        name("In use on the card"),
        used,
        h("td", { class: "number" }, fmt.bytes(ledger.mostUsed())),
      ),
      line(
        name("Free"),
        used === null || total === null ? null : Math.max(0, total - used),
        h("td", {}),
      ),
    ),
  );
}

/** Lines of the counters as they were read, with the first, highest and last of each. */
async function countersView(state: State): Promise<HTMLElement[]> {
  const cols = await state.lane.counters();
  if (!cols || cols.value.length === 0) return [];
  const series = state.lane.meta.counters
    .map((name, i) => ({ name, readings: readingsOf(cols, i) }))
    .filter((s) => s.readings.time.length > 0);
  const readout = h("p", { class: "readout" });
  let top = 1;
  const plot = makePlot(state, {
    label: "Counters over time; the table below holds their last and highest values.",
    height: 280,
    byTime: true,
    series: () =>
      series.map((_, i) => ({
        stroke: theme().series[i % 11]!,
        width: 1.5,
        points: { show: false },
      })),
    data: (width, from, to) => {
      const edges = Float64Array.from(
        { length: width + 1 },
        (_, i) => from + ((to - from) * i) / width,
      );
      const us = edges.map((v) => v * 1e6);
      const x = edges.subarray(0, width);
      const rows = series.map((s) =>
        Float64Array.from(x, (_, i) => s.readings.highest(us[i]!, us[i + 1]!)),
      );
      top = Math.max(1, ...rows.map((row) => row.reduce((m, v) => (v > m ? v : m), 0))) * 1.06;
      return [x, ...rows] as uPlot.AlignedData;
    },
    top: () => top,
    hover: (x) => {
      if (x === null) return;
      readout.textContent = `${fmt.duration(x * 1e6)}: ${series.map((s) => `${s.name} ${fmt.bytes(s.readings.at(x * 1e6))}`).join(", ")}`;
    },
    click: (x) => state.setInstant(state.lane.axis("time").event(x)),
  });
  state.follow(plot.root, ["range", "axis"], plot.redraw);
  onTheme(plot.rebuild);
  const t = theme();
  return [
    h("h3", { class: "later" }, "Counters"),
    h(
      "ul",
      { class: "legend" },
      ...series.map((s, i) => h("li", { class: "line" }, chip(t.series[i % 11]!), s.name)),
    ),
    plot.root,
    readout,
    scrolled(
      "The counters in figures",
      h(
        "table",
        { class: "counters" },
        h("caption", {}, "Counters over the whole run"),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ...["Counter", "First", "Highest", "Last"].map((n, i) =>
              h("th", { scope: "col", class: i === 0 ? "text" : "number" }, n),
            ),
          ),
        ),
        h(
          "tbody",
          {},
          ...series.map((s) =>
            h(
              "tr",
              {},
              h("th", { scope: "row", class: "text" }, s.name),
              ...[
                s.readings.value[0]!,
                s.readings.value.reduce((m, v) => Math.max(m, v), 0),
                s.readings.value[s.readings.value.length - 1]!,
              ].map((v) => h("td", { class: "number" }, fmt.bytes(v))),
            ),
          ),
        ),
      ),
    ),
  ];
}
