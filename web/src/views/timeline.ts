// Live, reserved and the limit over the run, alone or stacked by what holds the bytes.
import type uPlot from "uplot";
import { alertMarks, type AlertMarks } from "../draw/alert_marks.ts";
import { onTheme, theme } from "../draw/colors.ts";
import { absent, button, choice, h, replace, select, type Choice } from "../draw/dom.ts";
import { makePlot, type Plot } from "../draw/plot.ts";
import { showFirst } from "../draw/size.ts";
import { drawColumns, drawMarks } from "../draw/timeline_marks.ts";
import type { AxisKind } from "../model/axis.ts";
import type { Blocks } from "../model/blocks.ts";
import type { Folded } from "../model/curve.ts";
import type { Columns } from "../model/data.ts";
import * as fmt from "../model/format.ts";
import {
  groupsOfBlocks,
  isExact,
  rowsFromBlocks,
  rowsFromColumns,
  type GroupKind,
  type GroupRows,
} from "../model/groups.ts";
import { USED_ON_DEVICE, readingsOf, type Readings } from "../model/readings.ts";
import { sampleLine, samplesIn } from "../model/sample_line.ts";
import { Lane, type Stacking, type State } from "../state.ts";
import { diffLanes } from "./diff.ts";
import * as words from "./timeline_words.ts";

/** Parts of a stacked column in the readout: nobody would read more. */
const PARTS_SHOWN = 5;

const LABEL =
  "Memory over the run. Arrow keys pan, plus and minus zoom, zero shows the whole run, " +
  "comma and full stop step by one event.";

/** The ways to stack, each with the number of groups from which it is useful. */
const STACKINGS: { value: GroupKind; label: string; least: number }[] = [
  { value: "line", label: "By line", least: 1 },
  { value: "file", label: "By file", least: 2 },
  { value: "tag", label: "By tag", least: 1 },
  { value: "module", label: "By module", least: 1 },
  { value: "stream", label: "By stream", least: 2 },
];

const AXES: Choice<AxisKind>[] = [
  { value: "time", label: "time" },
  { value: "event", label: "events" },
];

export function timelineView(state: State): HTMLElement {
  const title = h("h2", { id: "timeline-title" }, "Timeline");
  const body = h("div", {});
  const fill = (): void => {
    const why = state.lane.meta.absent["timeline"];
    replace(body, ...(why ? [absent(why)] : new TimelineView(state).elements()));
    showFirst();
  };
  fill();
  state.on(["lane"], fill);
  return h("section", { class: "panel", "aria-labelledby": "timeline-title" }, title, body);
}

class TimelineView {
  private readonly state: State;
  private readonly lane: Lane;
  private readonly alerts: AlertMarks;
  private readonly plot: Plot;

  private folded: Folded | null = null;
  /** the live bytes of samples that are fewer than pixels; empty otherwise */
  private sampled: Float64Array = new Float64Array(0);
  /** the same device of the other input of a comparison, and its curve for each pixel column */
  private other: Lane | null = null;
  private otherHigh: Float64Array = new Float64Array(0);
  private rows: GroupRows = [];
  /** what the device itself reported, for each pixel column */
  private used: Float64Array = new Float64Array(0);
  private usedReadings: Readings | null = null;
  /** what stacking needs, read when it is first asked for */
  private blocks: Blocks | null = null;
  private ends: Uint32Array | null = null;
  private columns: Columns<"groups"> | null = null;
  private grouped: { kind: GroupKind; of: Uint8Array } | null = null;

  private readonly readout = h("p", { class: "readout", id: "timeline-readout" });
  private readonly range = h("span", { class: "range" });
  private readonly legend = h("ul", { class: "legend" });
  /** the ways to stack */
  private shown: HTMLElement = h("div", {});

  constructor(state: State) {
    this.state = state;
    this.lane = state.lane;
    const choose = (us: number): void => state.setInstant(this.lane.axis("time").eventAtTime(us));
    this.alerts = alertMarks(
      this.lane.meta.alerts,
      (alert) => choose(alert.time_us),
      (text) => (this.readout.textContent = text),
    );
    this.plot = this.makePlot();
    this.follow();
    this.showLegend();
    this.showWords();
    void this.readCounters();
    void this.readOther();
    void this.readGroups();
  }

  /** What the reader chose, where this lane can be split so. */
  private get stacking(): Stacking {
    const { stacking } = this.state;
    return stacking !== "none" && this.lane.meta.groups[stacking].length > 0 ? stacking : "none";
  }

  elements(): (HTMLElement | null)[] {
    return [
      words.sub(words.contradiction(this.lane), "remark"),
      this.tools(),
      this.legend,
      this.plot.root,
      this.readout,
      h(
        "p",
        { class: "sub" },
        this.range,
        ` ${words.detailSentence(this.lane)} `,
        h(
          "span",
          { class: "hint" },
          "Drag to select a range for the views below; ? lists the keys.",
        ),
      ),
      words.sub(words.marksSentence(this.lane)),
      words.sub(words.missingSplits(this.lane)),
    ];
  }

  private tools(): HTMLElement {
    const { lane, state } = this;
    const { groups } = lane.meta;
    const split = STACKINGS.filter((s) => groups[s.value].length >= s.least);
    const stackings: Choice<Stacking>[] = [{ value: "none", label: "Total" }, ...split];
    this.shown = choice("Show", stackings, this.stacking, (v) => state.setStacking(v));
    const step = (label: string, name: string, act: () => void): HTMLElement =>
      button(label, act, { "aria-label": name });
    return h(
      "div",
      { class: "tools" },
      split.length === 0 ? null : this.shown,
      lane.hasTime ? select("Axis", AXES, state.axisKind, (v) => state.setAxis(v)) : null,
      h(
        "div",
        { class: "buttons" },
        step("←", "Pan left", () => state.pan(-0.25)),
        step("→", "Pan right", () => state.pan(0.25)),
        step("+", "Zoom in", () => state.zoom(0.5)),
        step("−", "Zoom out", () => state.zoom(2)),
        button("Whole run", () => state.resetRange()),
      ),
    );
  }

  private makePlot(): Plot {
    const { lane, state } = this;
    return makePlot(state, {
      label: LABEL,
      height: 270,
      series: lineSeries,
      data: (width, from, to) => this.fold(width, from, to),
      top: () => yTop(this.folded, this.used, this.otherHigh, lane.meta.capacity_bytes),
      under: (u) => {
        if (this.sampled.length > 0) return; // then it is a line
        drawColumns(u, this.folded!, this.rows, words.groupColors(state, this.stacking));
      },
      over: (u) => {
        drawMarks(u, state);
        this.alerts.place(u, (us) => state.axis.xOfTime(us));
      },
      hover: (x) => this.hover(x),
      click: (x) => state.setInstant(state.axis.event(x)),
    });
  }

  private follow(): void {
    const { plot, state } = this;
    const update = (): void => {
      this.showWords();
      plot.redraw();
    };
    state.follow(plot.root, ["range", "instant"], update);
    state.follow(plot.root, ["stacking"], () => void this.setStacking());
    state.follow(plot.root, ["axis"], () => {
      plot.rebuild();
      update();
    });
    onTheme(() => {
      plot.rebuild();
      this.showLegend();
    });
  }

  private async readCounters(): Promise<void> {
    const series = this.lane.meta.counters.indexOf(USED_ON_DEVICE);
    const cols = series < 0 ? null : await this.lane.counters();
    if (!cols) return;
    this.usedReadings = readingsOf(cols, series);
    this.plot.rebuild();
  }

  /** The curve of the other input of a comparison. */
  private async readOther(): Promise<void> {
    const { data, lane, names } = this.state;
    const pair = data.meta.mode === "diff" ? diffLanes(this.state) : null;
    const index = pair?.find((i) => i !== lane.index);
    if (index === undefined || !pair!.includes(lane.index)) return;
    this.other = await Lane.load(data, index, names);
    this.showLegend();
    this.plot.rebuild();
  }

  /** What stacking is computed from. */
  private async readGroups(): Promise<void> {
    if (this.stacking === "none") return;
    this.columns = await this.lane.groups();
    this.blocks = await this.lane.blocks();
    this.ends = await this.lane.ends();
    this.plot.rebuild();
  }

  private async setStacking(): Promise<void> {
    await this.readGroups();
    this.showLegend();
    const chosen = this.shown.querySelector<HTMLInputElement>(`[value="${this.stacking}"]`);
    if (chosen) chosen.checked = true;
    this.plot.rebuild();
  }

  private showLegend(): void {
    replace(this.legend, ...words.legendItems(this.state, this.stacking, this.other));
  }

  private showWords(): void {
    this.range.textContent = words.rangeSentence(this.state);
    this.readout.textContent = words.chosenSentence(this.state, this.usedReadings);
  }

  private hover(x: number | null): void {
    const { lane, state, usedReadings } = this;
    if (x === null) this.readout.textContent = words.chosenSentence(state, usedReadings);
    else if (state.axisKind === "time" && state.axis.timeOfX(x) < lane.meta.start_us)
      this.readout.textContent = words.notBegunSentence(lane);
    else
      this.readout.textContent =
        words.momentSentence(state, state.axis.event(x), "", usedReadings) + this.partsAt(x);
  }

  private fold(width: number, from: number, to: number): uPlot.AlignedData {
    const { axis } = this.state;
    const { curve, meta } = this.lane;
    const folded = curve.fold(axis, from, to, width);
    this.folded = folded;
    const at = curve.positions(axis);
    const isLine = meta.is_sampled && samplesIn(at, from, to) < width;
    const line = (value: Float64Array, x = at): Float64Array =>
      sampleLine(x, value, from, to, width);
    this.sampled = isLine ? line(curve.cols.max) : new Float64Array(0);
    this.otherHigh = this.foldOther(from, to, width);
    this.rows = this.stacking === "none" ? [] : this.groupRows(folded.at, this.stacking);
    const { x } = folded;
    const none = x.map(() => NaN);
    const column = (to - from) / width;
    const readings = this.usedReadings;
    const used = (r: Readings): Float64Array =>
      isLine
        ? line(
            r.value,
            r.time.map((us) => axis.xOfTime(us)),
          )
        : x.map((v) => r.highest(axis.timeOfX(v), axis.timeOfX(v + column)));
    this.used = readings ? used(readings) : none;
    const reserved = isLine ? line(curve.cols.reserved_max) : folded.reserved;
    const capacity = x.map(() => meta.capacity_bytes ?? NaN);
    const middles = x.map((v) => v + column / 2);
    const live = isLine ? this.sampled : none;
    return [middles, live, reserved ?? none, this.used, capacity, this.otherHigh];
  }

  /** The other input from its own beginning, in the same units. */
  private foldOther(from: number, to: number, width: number): Float64Array {
    const { other, state } = this;
    if (!other) return new Float64Array(width).fill(NaN);
    const axis = other.axis(other.hasTime ? state.axisKind : "event");
    const { x, max } = other.curve.fold(axis, from, to, width);
    return max.map((v, i) => (x[i]! > axis.max ? NaN : v));
  }

  /** From the blocks where all of them are kept, else from the columns that C computed. */
  private groupRows(at: Float64Array, kind: GroupKind): GroupRows {
    const { blocks, ends, lane, state } = this;
    const cnt = lane.meta.groups[kind].length;
    if (blocks && ends && kind !== "stream" && isExact(lane.meta, kind)) {
      const { tag_names } = state.data.meta;
      if (this.grouped?.kind !== kind) {
        const of = groupsOfBlocks(blocks, lane.meta, state.names, tag_names, kind);
        this.grouped = { kind, of };
      }
      return rowsFromBlocks(blocks, ends, this.grouped.of, cnt, at);
    }
    return this.columns ? rowsFromColumns(this.columns, kind, cnt, at) : [];
  }

  /** What a pixel column is stacked of. */
  private partsAt(x: number): string {
    const { folded, rows, stacking, state } = this;
    if (stacking === "none" || !folded) return "";
    const [a, b] = state.span();
    const n = folded.x.length;
    const column = Math.min(n - 1, Math.max(0, Math.floor(((x - a) / (b - a)) * n)));
    const groups = this.lane.meta.groups[stacking];
    const parts = rows
      .map((row, g) => ({ bytes: row[column]!, group: groups[g]! }))
      .filter((p) => p.bytes > 0)
      .sort((p, q) => q.bytes - p.bytes)
      .slice(0, PARTS_SHOWN)
      .map((p) => `${words.groupLabel(state, p.group)} ${fmt.bytes(p.bytes)}`);
    return ` — ${parts.join(", ")}`;
  }
}

/**
 * Live bytes where they are samples, reserved, in use on the device, the limit, the other input of
 * a comparison; the live bytes of events are bars.
 */
function lineSeries(): uPlot.Series[] {
  const t = theme();
  const line = (stroke: string): uPlot.Series => ({ stroke, width: 1.25, points: { show: false } });
  return [
    { ...line(t.live), width: 2, fill: `${t.live}26` },
    line(t.reserved),
    line(t.used),
    { ...line(t.limit), dash: [6, 4] },
    { ...line(t.other), width: 1.75 },
  ];
}

const USED_REACH = 4;

function highest(values: Float64Array | null): number {
  return values?.reduce((m, v) => (v > m ? v : m), 0) ?? 0;
}

/**
 * The card's own figures are shown once memory comes close to them; if they were far above, all
 * curves would look flat.
 */
function yTop(
  folded: Folded | null,
  used: Float64Array,
  other: Float64Array,
  capacity: number | null,
): number {
  if (!folded) return 1;
  let top = Math.max(highest(folded.max), highest(folded.reserved), highest(other));
  const mostUsed = highest(used);
  if (mostUsed < top * USED_REACH) top = Math.max(top, mostUsed);
  if (capacity !== null && top > capacity / words.CAPACITY_REACH) top = Math.max(top, capacity);
  return top * 1.06;
}
