// One plot over the shared axis: uPlot draws axes and series; dragging selects, the wheel and the
// keys zoom and pan. Every plot of the page is made here, so they all behave alike.
import uPlot from "uplot";
import type { Axis } from "../model/axis.ts";
import * as fmt from "../model/format.ts";
import type { State } from "../state.ts";
import { theme } from "./colors.ts";
import { h } from "./dom.ts";
import { fontFamily } from "./parts.ts";
import { onWidth, perFrame } from "./size.ts";

export interface PlotSpec {
  label: string;
  height: number;
  /** always over time, whatever axis the others have: its data have no event numbers */
  byTime?: boolean;
  series: () => uPlot.Series[];
  /** the data for `width` pixel columns of the visible span */
  data: (width: number, from: number, to: number) => uPlot.AlignedData;
  /** highest value of the y axis */
  top: () => number;
  /** drawn over the grid, below the series */
  under?: (u: uPlot) => void;
  /** drawn last */
  over?: (u: uPlot) => void;
  hover: (x: number | null, y: number | null) => void;
  click: (x: number, y: number) => void;
}

export interface Plot {
  root: HTMLElement;
  /** new series, new theme */
  rebuild: () => void;
  /** new data */
  redraw: () => void;
}

function clockText(seconds: number): string {
  const [d, h, m, s] = [
    Math.floor(seconds / 86400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
    Math.round(seconds % 60),
  ];
  const parts = [
    d ? `${d} d` : "",
    h ? `${h} h` : "",
    m ? `${m} min` : "",
    s ? `${s} s` : "",
  ].filter((p) => p !== "");
  return parts.length === 0 ? "0 s" : parts.join(" ");
}

function tickUnit(span: number): (seconds: number) => string {
  const decimals = (step: number): number =>
    Math.max(0, Math.min(6, Math.ceil(-Math.log10(step / 10))));
  if (span < 1e-3) return (s) => `${(s * 1e6).toFixed(decimals(span * 1e6))} µs`;
  if (span < 1) return (s) => `${(s * 1e3).toFixed(decimals(span * 1e3))} ms`;
  if (span < 300) return (s) => `${s.toFixed(decimals(span))} s`;
  return clockText;
}

/** Round steps in binary units: decimal within a unit, powers of two from one unit to the next. */
export function byteTicks(max: number, want: number): number[] {
  const raw = max / Math.max(2, want);
  const unit = 1024 ** Math.max(0, Math.floor(Math.log2(Math.max(raw, 1)) / 10));
  const steps =
    max / unit > 1000
      ? [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
      : [1, 2, 5, 10, 20, 50, 100, 200, 500];
  const step = unit * (steps.find((s) => s * unit >= raw) ?? 1024);
  const out: number[] = [];
  for (let v = 0; v <= max; v += step) out.push(v);
  return out;
}

const SECOND_STEPS = [
  60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 43200, 86400, 172800, 432000, 864000,
];

/** Distances between ticks: decimal below a minute, then minutes and hours as on a clock. */
function timeSteps(): number[] {
  const out: number[] = [];
  for (let power = -7; power < 2; power++)
    for (const n of [1, 2, 5]) if (n * 10 ** power < 60) out.push(n * 10 ** power);
  return [...out, ...SECOND_STEPS];
}

function axisOf(state: State, spec: PlotSpec): Axis {
  return spec.byTime ? state.lane.axis("time") : state.axis;
}

function axes(state: State, spec: PlotSpec): uPlot.Axis[] {
  const t = theme();
  const font = `12px ${fontFamily()}`;
  const shared = {
    stroke: t.muted,
    font,
    grid: { stroke: t.grid, width: 1 },
    ticks: { show: false },
  };
  return [
    {
      ...shared,
      grid: { show: false },
      size: 30,
      space: (u) => tickSpace(u, state, spec),
      ...(axisOf(state, spec).kind === "time" ? { incrs: timeSteps() } : {}),
      values: (_, splits) => splits.map(tickText(state, spec)),
    },
    {
      ...shared,
      size: 68,
      gap: 6,
      splits: (u, _i, _min, max) => byteTicks(max, u.bbox.height / devicePixelRatio / 40),
      values: (_, splits) => splits.map((s) => fmt.bytes(s).replace(/\.0+ /, " ")),
    },
  ];
}

function tickText(state: State, spec: PlotSpec): (x: number) => string {
  const axis = axisOf(state, spec);
  if (axis.kind === "event") return (x) => (Number.isInteger(x) ? fmt.count(x) : "");
  const [a, b] = state.span(axis);
  return tickUnit(b - a);
}

const TICK_GAP = 24;

/** Pixels from one tick to the next: no label may touch its neighbour, however long it is. */
function tickSpace(u: uPlot, state: State, spec: PlotSpec): number {
  const text = tickText(state, spec);
  const [a, b] = state.span(axisOf(state, spec));
  u.ctx.save();
  u.ctx.font = `12px ${fontFamily()}`;
  // Between two round numbers there are longer ones, "1 h 59 min" before "2 h".
  const samples = Array.from({ length: 9 }, (_, i) => a + ((b - a) * i) / 8);
  const widest = Math.max(
    ...samples.map((x) => u.ctx.measureText(text(spec.byTime || x < 60 ? x : Math.round(x))).width),
  );
  u.ctx.restore();
  return Math.max(90, Math.ceil(widest) + TICK_GAP);
}

export function makePlot(state: State, spec: PlotSpec): Plot {
  const box = h("div", {
    class: "plot",
    tabindex: "0",
    role: "application",
    "aria-label": spec.label,
    "aria-roledescription": "chart",
  });
  let u: uPlot | null = null;
  let width = 0;

  const draw = (): void => {
    if (!u) return;
    const [a, b] = state.span(axisOf(state, spec));
    const columns = Math.max(1, Math.round(u.bbox.width / devicePixelRatio));
    u.batch(() => {
      u!.setData(spec.data(columns, a, b), false);
      u!.setScale("x", { min: a, max: b });
      u!.setScale("y", { min: 0, max: spec.top() || 1 });
    });
  };
  const build = (): void => {
    if (width === 0) return;
    u?.destroy();
    const nothing = [[0], ...spec.series().map(() => [null])] as uPlot.AlignedData;
    u = new uPlot(optionsOf(state, spec, width), nothing, box);
    attachPointer(state, u, spec);
    draw();
  };

  attachKeys(state, box, spec);
  onWidth(box, (now) => {
    width = now;
    build();
  });
  return { root: box, rebuild: build, redraw: perFrame(draw) };
}

function optionsOf(state: State, spec: PlotSpec, width: number): uPlot.Options {
  return {
    width,
    height: width < 600 ? Math.round(spec.height * 0.8) : spec.height,
    padding: [10, 26, 0, 0],
    legend: { show: false },
    scales: { x: { time: false, auto: false }, y: { auto: false } },
    axes: axes(state, spec),
    series: [{}, ...spec.series()],
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: false, dist: 5 },
      points: { show: false },
      // A plain drag selects (uPlot); with Shift it pans (our code).
      bind: {
        dblclick: () => () => null,
        mousedown: (_u, _t, handler) => (e: MouseEvent) => {
          if (!e.shiftKey && e.button === 0) handler(e);
          return null;
        },
      },
    },
    hooks: {
      drawAxes: [(p) => spec.under?.(p)],
      draw: [(p) => spec.over?.(p)],
      setSelect: [(p) => takeSelection(state, spec, p)],
      setCursor: [(p) => hover(p, spec)],
    },
  };
}

function hover(u: uPlot, spec: PlotSpec): void {
  const { left, top } = u.cursor;
  if (left === undefined || left < 0 || top === undefined) spec.hover(null, null);
  else spec.hover(u.posToVal(left, "x"), u.posToVal(top, "y"));
}

function takeSelection(state: State, spec: PlotSpec, u: uPlot): void {
  const { left, width } = u.select;
  if (width < 5) return;
  state.setSpan(u.posToVal(left, "x"), u.posToVal(left + width, "x"), axisOf(state, spec));
  u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
}

/** What dragging with Shift or the middle button, the wheel and clicks do. */
function attachPointer(state: State, u: uPlot, spec: PlotSpec): void {
  const over = u.over;
  let downAt: [number, number] | null = null;
  over.addEventListener("mousedown", (e) => {
    downAt = [e.clientX, e.clientY];
    if (!e.shiftKey && e.button !== 1) return;
    e.preventDefault();
    let last = e.clientX;
    const move = (m: MouseEvent): void => {
      state.pan((last - m.clientX) / over.clientWidth);
      last = m.clientX;
    };
    const stop = (): void => {
      removeEventListener("mousemove", move);
      removeEventListener("mouseup", stop);
    };
    addEventListener("mousemove", move);
    addEventListener("mouseup", stop);
  });
  over.addEventListener("click", (e) => {
    if (downAt && Math.hypot(e.clientX - downAt[0], e.clientY - downAt[1]) > 4) return;
    const rect = over.getBoundingClientRect();
    spec.click(u.posToVal(e.clientX - rect.left, "x"), u.posToVal(e.clientY - rect.top, "y"));
  });
  over.addEventListener("dblclick", () => state.resetRange());
  over.addEventListener(
    "wheel",
    (e) => {
      // The page must still scroll: only a wheel with a modifier, or a sideways one, belongs to the
      // plot.
      const sideways = Math.abs(e.deltaX) > Math.abs(e.deltaY);
      if (!e.ctrlKey && !e.shiftKey && !sideways) return;
      e.preventDefault();
      const rect = over.getBoundingClientRect();
      if (e.ctrlKey) state.zoom(Math.exp(e.deltaY / 300), (e.clientX - rect.left) / rect.width);
      else state.pan((sideways ? e.deltaX : e.deltaY) / rect.width);
    },
    { passive: false },
  );
}

export interface Key {
  keys: string[];
  /** as they are called in the help */
  names: string[];
  text: string;
  act: (state: State) => void;
}

/** One table of keys: what they do and what the help says. */
export const KEYS: Key[] = [
  { keys: ["ArrowLeft", "a"], names: ["←", "a"], text: "Pan left", act: (s) => s.pan(-0.1) },
  { keys: ["ArrowRight", "d"], names: ["→", "d"], text: "Pan right", act: (s) => s.pan(0.1) },
  {
    keys: ["+", "=", "ArrowUp", "w"],
    names: ["+", "↑", "w"],
    text: "Zoom in",
    act: (s) => s.zoom(0.7),
  },
  {
    keys: ["-", "ArrowDown", "s"],
    names: ["−", "↓", "s"],
    text: "Zoom out",
    act: (s) => s.zoom(1 / 0.7),
  },
  {
    keys: ["0", "Escape", "Home"],
    names: ["0", "Esc", "Home"],
    text: "Show the whole run",
    act: (s) => s.resetRange(),
  },
  { keys: [","], names: [","], text: "Back by one event", act: (s) => s.setInstant(s.instant - 1) },
  {
    keys: ["."],
    names: ["."],
    text: "Forward by one event",
    act: (s) => s.setInstant(s.instant + 1),
  },
  {
    keys: ["p"],
    names: ["p"],
    text: "Go to the highest point in view",
    act: (s) => s.setInstant(s.lane.curve.peak(s.range.from, s.range.to).event),
  },
];

function attachKeys(state: State, box: HTMLElement, spec: PlotSpec): void {
  box.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const row = KEYS.find((k) => k.keys.includes(e.key));
    if (!row) return;
    e.preventDefault();
    row.act(state);
    if (e.key === "," || e.key === "." || e.key === "p")
      spec.hover(axisOf(state, spec).x(state.instant), null);
  });
}
