// Live, reserved and the limit over the run, alone or stacked by what holds the bytes.
import uPlot from "uplot";
import { alertMarks } from "../draw/alert_marks.ts";
import { onTheme, theme } from "../draw/colors.ts";
import { absent, button, choice, h, replace, select } from "../draw/dom.ts";
import { showFirst } from "../draw/size.ts";
import { KEYS, makePlot, xText } from "../draw/plot.ts";
import type { Folded } from "../model/curve.ts";
import { USED_ON_DEVICE, readingsOf, type Readings } from "../model/readings.ts";
import * as fmt from "../model/format.ts";
import {
  groupsOfBlocks,
  isExact,
  rowsFromBlocks,
  rowsFromColumns,
  type GroupKind,
  type GroupRows,
} from "../model/groups.ts";
import type { Blocks } from "../model/blocks.ts";
import type { Columns } from "../model/data.ts";
import type { GroupMeta } from "../model/meta.ts";
import type { Lane, State } from "../state.ts";

type Stacking = "none" | GroupKind;

/** Of a stacked column, in the readout: more would not be read. */
const PARTS_SHOWN = 5;

export function timelineView(state: State): HTMLElement {
  const box = h(
    "section",
    { class: "panel", "aria-labelledby": "timeline-title" },
    h("h2", { id: "timeline-title" }, "Timeline"),
  );
  const body = h("div", {});
  box.append(body);
  const fill = (): void => {
    const why = state.lane.meta.absent["timeline"];
    if (why) replace(body, absent(why));
    else replace(body, ...timelineBody(state));
    showFirst();
  };
  fill();
  state.on(["lane"], fill);
  return box;
}

function timelineBody(state: State): (HTMLElement | null)[] {
  let stacking: Stacking = "none";
  let folded: Folded | null = null;
  let rows: GroupRows = [];
  let used = new Float64Array(0);
  let usedReadings: Readings | null = null;
  let blocks: Blocks | null = null;
  let ends: Uint32Array | null = null;
  let columns: Columns<"groups"> | null = null;
  let grouped: { kind: GroupKind; of: Uint8Array } | null = null;
  const readout = h("p", { class: "readout", id: "timeline-readout" });
  const rangeText = h("span", { class: "range" });
  const legend = h("ul", { class: "legend" });
  const lane = state.lane;

  const alerts = alertMarks(
    lane.meta.alerts,
    (a) => state.setInstant(lane.axis("time").eventAtTime(a.time_us)),
    (text) => {
      readout.textContent = text;
    },
  );

  const groupRows = (at: Float64Array, kind: GroupKind): GroupRows => {
    const groups = lane.meta.groups[kind].length;
    if (blocks && ends && kind !== "stream" && isExact(lane.meta, kind)) {
      if (grouped?.kind !== kind)
        grouped = {
          kind,
          of: groupsOfBlocks(blocks, lane.meta, state.names, state.data.meta.tag_names, kind),
        };
      return rowsFromBlocks(blocks, ends, grouped.of, groups, at);
    }
    return columns ? rowsFromColumns(columns, kind, groups, at) : [];
  };

  const series = (): uPlot.Series[] => {
    const t = theme();
    const line = (stroke: string, dash?: number[]): uPlot.Series => ({
      stroke,
      width: 1.25,
      points: { show: false },
      ...(dash ? { dash } : {}),
    });
    return [line(t.reserved), line(t.used), line(t.limit, [6, 4])];
  };

  const data = (width: number, from: number, to: number): uPlot.AlignedData => {
    folded = lane.curve.fold(state.axis, from, to, width);
    rows = stacking === "none" ? [] : groupRows(folded.at, stacking);
    const capacity = lane.meta.capacity_bytes ?? NaN;
    const half = (to - from) / width / 2;
    const axis = state.axis;
    used = folded.x.map((x) =>
      usedReadings
        ? usedReadings.highest(
            axis.kind === "time" ? x * 1e6 : axis.timeOf(x),
            axis.kind === "time" ? (x + 2 * half) * 1e6 : axis.timeOf(x + 2 * half),
          )
        : NaN,
    );
    return [
      folded.x.map((v) => v + half),
      folded.reserved ?? folded.x.map(() => NaN),
      used,
      folded.x.map(() => capacity),
    ];
  };

  /** What a pixel column is stacked of. */
  const parts = (x: number | null): string => {
    if (x === null || stacking === "none" || !folded) return "";
    const [a, b] = state.span();
    const column = Math.min(
      folded.x.length - 1,
      Math.max(0, Math.floor(((x - a) / (b - a)) * folded.x.length)),
    );
    const named = rows.map((row, g) => ({
      bytes: row[column]!,
      name: groupLabel(state, lane.meta.groups[stacking as GroupKind][g]!),
    }));
    return ` — ${named
      .filter((p) => p.bytes > 0)
      .sort((p, q) => q.bytes - p.bytes)
      .slice(0, PARTS_SHOWN)
      .map((p) => `${p.name} ${fmt.bytes(p.bytes)}`)
      .join(", ")}`;
  };

  const plot = makePlot(state, {
    label:
      "Memory over the run. Arrow keys pan, plus and minus zoom, zero shows the whole run, comma and full stop step by one event.",
    height: 300,
    series,
    data,
    top: () => yTop(folded, used, lane.meta.capacity_bytes),
    under: (u) => drawColumns(u, folded!, rows, groupColors(state, stacking)),
    over: (u) => {
      drawMarks(u, state);
      alerts.place(u, (us) => (state.axis.kind === "time" ? us / 1e6 : state.axis.eventAtTime(us)));
    },
    hover: (x) => {
      readout.textContent =
        describe(
          state,
          x === null ? state.instant : state.axis.event(x),
          x !== null,
          usedReadings,
        ) + parts(x);
    },
    click: (x) => state.setInstant(state.axis.event(x)),
  });

  const showRange = (): void => {
    const axis = state.axis;
    const { from, to } = state.range;
    rangeText.textContent = state.isWhole
      ? `Whole run: ${fmt.plural(lane.meta.events, lane.meta.is_sampled ? "sample" : "event")}.`
      : `${xText(state, axis.x(from))} to ${xText(state, axis.x(to))}, ${fmt.plural(to - from + 1, "event")} selected.`;
  };
  const showLegend = (): void => replace(legend, ...legendItems(state, stacking));
  const setStacking = async (kind: Stacking): Promise<void> => {
    stacking = kind;
    if (kind !== "none") {
      columns = await lane.groups();
      blocks = await lane.blocks();
      ends = await lane.ends();
    }
    showLegend();
    plot.rebuild();
  };
  const update = (): void => {
    showRange();
    readout.textContent = describe(state, state.instant, false, usedReadings);
    plot.redraw();
  };
  state.follow(plot.root, ["range", "instant"], update);
  state.follow(plot.root, ["axis"], () => {
    plot.rebuild();
    update();
  });
  onTheme(() => {
    plot.rebuild();
    showLegend();
  });
  if (lane.meta.counters.includes(USED_ON_DEVICE))
    void lane.counters().then((cols) => {
      usedReadings = cols ? readingsOf(cols, lane.meta.counters.indexOf(USED_ON_DEVICE)) : null;
      plot.rebuild();
    });
  showLegend();
  showRange();
  readout.textContent = describe(state, state.instant, false, usedReadings);

  const stackings: { value: Stacking; label: string }[] = [{ value: "none", label: "Total" }];
  if (lane.meta.groups.line.length > 0) stackings.push({ value: "line", label: "By line" });
  if (lane.meta.groups.file.length > 1) stackings.push({ value: "file", label: "By file" });
  if (lane.meta.groups.tag.length > 0) stackings.push({ value: "tag", label: "By tag" });
  if (lane.meta.groups.module.length > 0) stackings.push({ value: "module", label: "By module" });
  if (lane.meta.groups.stream.length > 1) stackings.push({ value: "stream", label: "By stream" });
  const tools = h(
    "div",
    { class: "tools" },
    choice("Show", stackings, stacking, (v) => void setStacking(v)),
    lane.hasTime
      ? select(
          "Axis",
          [
            { value: "time", label: "time" },
            { value: "event", label: "events" },
          ],
          state.axisKind,
          (v) => state.setAxis(v),
        )
      : null,
    h(
      "div",
      { class: "buttons" },
      button("←", () => state.pan(-0.25), { "aria-label": "Pan left" }),
      button("→", () => state.pan(0.25), { "aria-label": "Pan right" }),
      button("+", () => state.zoom(0.5), { "aria-label": "Zoom in" }),
      button("−", () => state.zoom(2), { "aria-label": "Zoom out" }),
      button("Whole run", () => state.resetRange()),
    ),
  );
  const missing = missingSplits(lane);
  const help = h(
    "p",
    { class: "hint" },
    `Drag to select a range, it drives every view below; Shift-drag pans, Ctrl-wheel zooms, a click fixes the moment. Keys: ${KEYS.filter(
      (k) => k.text,
    )
      .map((k) => k.text)
      .join(" · ")}.`,
  );
  const odd = contradiction(lane);
  return [
    odd === null ? null : h("p", { class: "remark" }, odd),
    tools,
    legend,
    plot.root,
    readout,
    h("p", { class: "sub" }, rangeText, " ", detailNote(state)),
    markList(state),
    missing === null ? null : h("p", { class: "sub" }, missing),
    help,
  ];
}

/**
 * One upright bar for each pixel column: from the lowest to the highest value, over a pale ground; or the parts
 * of the highest value on top of each other. Bars instead of lines: a curve that swings within every pixel costs
 * ten times as much to stroke, and its strokes would say no more.
 */
function drawColumns(u: uPlot, folded: Folded, rows: GroupRows, colors: string[]): void {
  const t = theme();
  const ctx = u.ctx;
  const { left, top, width, height } = u.bbox;
  const y = (bytes: number): number => Math.round(top + height * (1 - bytes / u.scales["y"]!.max!));
  const n = folded.max.length;
  const least = Math.max(1, Math.round(1.5 * devicePixelRatio));
  const edges = Int32Array.from({ length: n + 1 }, (_, i) => Math.round(left + (width * i) / n));
  const bottom = top + height;
  for (let i = 0; i < n; i++) {
    const w = edges[i + 1]! - edges[i]!;
    const high = y(folded.max[i]!);
    const low = y(folded.min[i]!);
    if (rows.length === 0) {
      ctx.fillStyle = `${t.live}26`;
      ctx.fillRect(edges[i]!, low, w, bottom - low);
      ctx.fillStyle = t.live;
      ctx.fillRect(edges[i]!, high, w, Math.max(least, low - high));
      continue;
    }
    let base = 0;
    for (let g = 0; g < rows.length; g++) {
      const part = rows[g]![i]!;
      if (part <= 0) continue;
      ctx.fillStyle = colors[g]!;
      ctx.fillRect(edges[i]!, y(base + part), w, y(base) - y(base + part));
      base += part;
    }
    ctx.fillStyle = t.ink;
    ctx.fillRect(edges[i]!, high, w, Math.max(1, Math.round(devicePixelRatio / 2)));
  }
}

const USED_REACH = 4;

function yTop(folded: Folded | null, used: Float64Array, capacity: number | null): number {
  if (!folded) return 1;
  let top = 0;
  for (const v of folded.max) if (v > top) top = v;
  if (folded.reserved) for (const v of folded.reserved) if (v > top) top = v;
  // The card's own figures are shown once memory comes within reach of them; far above, they would flatten everything.
  const mostUsed = used.reduce((m, v) => (v > m ? v : m), 0);
  if (mostUsed < top * USED_REACH) top = Math.max(top, mostUsed);
  if (capacity !== null && top > capacity / 3) top = Math.max(top, capacity);
  return top * 1.06;
}

function describe(state: State, event: number, isHover: boolean, used: Readings | null): string {
  const lane = state.lane;
  if (event < 0) return `Before the first event: live ${fmt.bytes(lane.meta.base_bytes)}`;
  const point = lane.curve.pointAt(event);
  const when = lane.hasTime ? `${fmt.duration(state.axis.timeOf(event))} after the start` : "";
  const word = lane.meta.is_sampled ? "sample" : "event";
  const which =
    point.from === point.to
      ? `${word} ${fmt.count(event)}`
      : `${word}s ${fmt.count(point.from)} to ${fmt.count(point.to)}`;
  const isPeak = event === lane.meta.peak_event && lane.meta.peak_bytes !== null;
  // Blocks whose free is missing end with the last event: there the peak is not what the event leaves behind.
  if (isPeak && lane.meta.bin_events === 1) point.min = point.max = lane.meta.peak_bytes!;
  const live =
    point.min === point.max
      ? `live ${fmt.bytes(point.max)} (${fmt.exactBytes(point.max)})`
      : `live ${fmt.bytes(point.min)} to ${fmt.bytes(point.max)} (at most ${fmt.exactBytes(point.max)})`;
  const reserved = point.reserved === null ? "" : `, reserved ${fmt.bytes(point.reserved)}`;
  const onDevice = used?.at(state.axis.timeOf(event)) ?? null;
  const inUse = onDevice === null ? "" : `, ${USED_ON_DEVICE} ${fmt.bytes(onDevice)}`;
  const lead = isHover ? "" : isPeak ? "Peak: " : "Chosen moment: ";
  return `${lead}${[when, which].filter((s) => s !== "").join(", ")}: ${live}${reserved}${inUse}`;
}

function detailNote(state: State): string {
  const lane = state.lane;
  const word = lane.meta.is_sampled ? "sample" : "event";
  if (lane.meta.bin_events === 1) return `Every ${word} is in this curve.`;
  return `Each point of this curve stands for ${fmt.plural(lane.meta.bin_events, word)} and keeps their true lowest and highest value.`;
}

/** A colour chip drawn as an image of its class: styles in attributes are forbidden by the page's policy. */
export function chip(color: string): HTMLElement {
  const el = h("span", { class: "chip", "aria-hidden": "true" });
  el.style.backgroundColor = color;
  return el;
}

function groupLabel(state: State, group: GroupMeta): string {
  return group.frame !== null ? state.names.label(group.frame) : fmt.shortPath(group.label);
}

/** A tag has one colour in every input; other groups are coloured by their rank. */
function groupColors(state: State, stacking: Stacking): string[] {
  if (stacking === "none") return [];
  const t = theme();
  const { tag_names } = state.data.meta;
  const rank = (label: string, i: number): number =>
    stacking === "tag" ? tag_names.indexOf(label) - 1 : i; // "unknown" has none
  return state.lane.meta.groups[stacking].map((g, i) => t.series[rank(g.label, i)] ?? t.rest);
}

/** What cannot be, and yet stands in the input. */
function contradiction(lane: Lane): string | null {
  const { largest_block_bytes: largest, capacity_bytes: capacity } = lane.meta;
  if (capacity === null || largest <= capacity) return null;
  return `The largest block, ${fmt.bytes(largest)}, is larger than the whole device (${fmt.bytes(capacity)}): either figure is wrong, or the block did not lie on this device.`;
}

/** Why the run cannot be split in a way that others can. */
function missingSplits(lane: Lane): string | null {
  const why = [lane.meta.absent["tags"], lane.meta.absent["modules"]].filter(
    (t) => t !== undefined,
  );
  return why.length === 0 ? null : why.join(" ");
}

function legendItems(state: State, stacking: Stacking): HTMLElement[] {
  const t = theme();
  const lane = state.lane;
  const item = (color: string, text: string, kind = ""): HTMLElement =>
    h("li", { class: kind }, chip(color), text);
  const out: HTMLElement[] = [];
  if (stacking === "none") out.push(item(t.live, "live (highest and lowest in each pixel)"));
  else
    lane.meta.groups[stacking].forEach((g, i) =>
      out.push(item(groupColors(state, stacking)[i]!, groupLabel(state, g))),
    );
  if (lane.curve.hasReserved) out.push(item(t.reserved, "reserved by the allocator", "line"));
  if (lane.meta.counters.includes(USED_ON_DEVICE)) out.push(item(t.used, USED_ON_DEVICE, "line"));
  if (lane.meta.capacity_bytes !== null)
    out.push(item(t.limit, `limit ${fmt.bytes(lane.meta.capacity_bytes)}`, "line"));
  if (lane.meta.oom_events.length > 0) out.push(item(t.bad, "out of memory", "line"));
  if (lane.meta.alerts.length > 0)
    out.push(item(t.warn, fmt.plural(lane.meta.alerts.length, "alert")));
  return out;
}

/** The marks in words, for those who cannot see the strip. */
function markList(state: State): HTMLElement | null {
  const { steps, ranges, points } = state.lane.marks;
  const parts: string[] = [];
  if (steps.length > 0) parts.push(`${fmt.count(steps.length)} steps`);
  if (ranges.length > 0)
    parts.push(
      `${fmt.count(ranges.length)} named ranges (${[...new Set(ranges.map((r) => r.name))].slice(0, 5).join(", ")})`,
    );
  if (points.length > 0) parts.push(`${fmt.count(points.length)} named points`);
  return parts.length === 0
    ? null
    : h("p", { class: "sub" }, `Marked in the input: ${parts.join("; ")}.`);
}

const STRIP = 9;
const MAX_DEPTH = 3;

function drawMarks(u: uPlot, state: State): void {
  const t = theme();
  const ctx = u.ctx;
  const r = devicePixelRatio;
  const { left, top, width, height } = u.bbox;
  const axis = state.axis;
  const toX = (us: number): number =>
    u.valToPos(axis.kind === "time" ? us / 1e6 : axis.eventAtTime(us), "x", true);
  const visible = (x: number): boolean => x >= left && x <= left + width;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  const { steps, ranges, points } = state.lane.marks;
  drawLines(ctx, steps.map((s) => toX(s.us)).filter(visible), t.muted, top, height, width, r);
  for (const range of ranges) {
    if (range.depth >= MAX_DEPTH) continue;
    const a = Math.max(toX(range.from), left);
    const b = Math.min(toX(range.to), left + width);
    if (b <= a) continue;
    ctx.globalAlpha = 0.55;
    ctx.fillStyle = t.series[hash(range.name) % 11]!;
    ctx.fillRect(
      a,
      top + height - (range.depth + 1) * STRIP * r,
      Math.max(b - a, 1),
      (STRIP - 2) * r,
    );
    ctx.globalAlpha = 1;
    if (b - a > 70 * r)
      label(
        ctx,
        range.name,
        a + 4 * r,
        top + height - (range.depth + 1) * STRIP * r - 3 * r,
        t.ink,
        r,
        b - a,
      );
  }
  for (const point of points) vertical(ctx, toX(point.us), t.accent, top, height, r, [2, 3]);
  for (const oom of state.lane.meta.oom_events) {
    const x = u.valToPos(axis.x(oom.event), "x", true);
    if (!visible(x)) continue;
    vertical(ctx, x, t.bad, top, height, r, []);
    label(
      ctx,
      `out of memory: ${fmt.bytes(oom.bytes)}`,
      Math.min(x + 5 * r, left + width - 190 * r),
      top + 14 * r,
      t.bad,
      r,
      400 * r,
    );
  }
  const x = u.valToPos(axis.x(Math.max(0, state.instant)), "x", true);
  if (visible(x)) vertical(ctx, x, t.accent, top, height, r, [4, 3]);
  ctx.restore();
}

function hash(text: string): number {
  let n = 0;
  for (let i = 0; i < text.length; i++) n = (Math.imul(n, 31) + text.charCodeAt(i)) >>> 0;
  return n;
}

/** Steps as lines while they are apart, as ticks at the top when they are many. */
function drawLines(
  ctx: CanvasRenderingContext2D,
  xs: number[],
  color: string,
  top: number,
  height: number,
  width: number,
  r: number,
): void {
  const many = xs.length > width / r / 14;
  ctx.strokeStyle = color;
  ctx.globalAlpha = many ? 0.5 : 0.28;
  ctx.lineWidth = r;
  ctx.beginPath();
  let last = -Infinity;
  for (const x of xs) {
    if (x - last < r) continue;
    last = x;
    ctx.moveTo(x, top);
    ctx.lineTo(x, many ? top + 6 * r : top + height);
  }
  ctx.stroke();
  ctx.globalAlpha = 1;
}

function vertical(
  ctx: CanvasRenderingContext2D,
  x: number,
  color: string,
  top: number,
  height: number,
  r: number,
  dash: number[],
): void {
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.5 * r;
  ctx.setLineDash(dash.map((d) => d * r));
  ctx.beginPath();
  ctx.moveTo(x, top);
  ctx.lineTo(x, top + height);
  ctx.stroke();
  ctx.setLineDash([]);
}

function label(
  ctx: CanvasRenderingContext2D,
  text: string,
  x: number,
  y: number,
  color: string,
  r: number,
  room: number,
): void {
  ctx.font = `${11 * r}px ${getComputedStyle(document.body).fontFamily}`;
  ctx.fillStyle = color;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  let shown = text;
  while (shown.length > 3 && ctx.measureText(shown).width > room - 8 * r)
    shown = `${shown.slice(0, -2)}…`;
  ctx.fillText(shown, x, y);
}
