// What is drawn into the timeline: the curve or its parts as bars, and the marks over them.
import type uPlot from "uplot";
import type { Folded } from "../model/curve.ts";
import * as fmt from "../model/format.ts";
import type { GroupRows } from "../model/groups.ts";
import type { MarkRange } from "../model/marks.ts";
import type { State } from "../state.ts";
import { theme, type Theme } from "./colors.ts";
import { fitText, fontFamily } from "./parts.ts";

/** The pixels of a plot: its box, and where a value is in it. */
interface Canvas {
  ctx: CanvasRenderingContext2D;
  left: number;
  top: number;
  width: number;
  height: number;
  right: number;
  bottom: number;
  /** device pixels per pixel of the page */
  r: number;
  y: (bytes: number) => number;
}

function canvasOf(u: uPlot): Canvas {
  const { left, top, width, height } = u.bbox;
  const most = u.scales["y"]!.max!;
  return {
    ctx: u.ctx,
    left,
    top,
    width,
    height,
    right: left + width,
    bottom: top + height,
    r: devicePixelRatio,
    y: (bytes) => Math.round(top + height * (1 - bytes / most)),
  };
}

/**
 * One upright bar for each pixel column: from the lowest to the highest value, over a pale
 * background; or the parts of the highest value, stacked. Bars instead of lines: a curve that
 * swings within every pixel costs ten times as much to stroke, and the strokes would show nothing
 * more.
 */
export function drawColumns(u: uPlot, folded: Folded, rows: GroupRows, colors: string[]): void {
  const c = canvasOf(u);
  const t = theme();
  const n = folded.max.length;
  const edge = (i: number): number => Math.round(c.left + (c.width * i) / n);
  for (let i = 0; i < n; i++) {
    const bar: Bar = { x: edge(i), width: edge(i + 1) - edge(i) };
    if (rows.length > 0)
      drawParts(
        c,
        t,
        bar,
        rows.map((row) => row[i]!),
        colors,
        folded.max[i]!,
      );
    else drawTotal(c, t, bar, folded.min[i]!, folded.max[i]!);
  }
}

interface Bar {
  x: number;
  width: number;
}

function drawTotal(c: Canvas, t: Theme, bar: Bar, min: number, max: number): void {
  const least = Math.max(1, Math.round(1.5 * c.r));
  const [low, high] = [c.y(min), c.y(max)];
  c.ctx.fillStyle = `${t.live}26`;
  c.ctx.fillRect(bar.x, low, bar.width, c.bottom - low);
  c.ctx.fillStyle = t.live;
  c.ctx.fillRect(bar.x, high, bar.width, Math.max(least, low - high));
}

function drawParts(
  c: Canvas,
  t: Theme,
  bar: Bar,
  parts: number[],
  colors: string[],
  max: number,
): void {
  let base = 0;
  parts.forEach((part, g) => {
    if (part <= 0) return;
    c.ctx.fillStyle = colors[g]!;
    c.ctx.fillRect(bar.x, c.y(base + part), bar.width, c.y(base) - c.y(base + part));
    base += part;
  });
  c.ctx.fillStyle = t.ink;
  c.ctx.fillRect(bar.x, c.y(max), bar.width, Math.max(1, Math.round(c.r / 2)));
}

const STRIP = 9;
const STRIP_NAMED = 15;
const NAME_FROM = 70;
const MAX_DEPTH = 3;
const RANGE_COLORS = 11;

/** Steps, named ranges and points, failed requests, and the chosen moment. */
export function drawMarks(u: uPlot, state: State): void {
  const c = canvasOf(u);
  const t = theme();
  const { axis, lane } = state;
  const toX = (x: number): number => u.valToPos(x, "x", true);
  const timeToX = (us: number): number => toX(axis.xOfTime(us));
  const isVisible = (x: number): boolean => x >= c.left && x <= c.right;
  const { steps, ranges, points } = lane.marks;
  c.ctx.save();
  c.ctx.beginPath();
  c.ctx.rect(c.left, c.top, c.width, c.height);
  c.ctx.clip();
  const visible = (marks: { us: number }[]): number[] =>
    marks.map((m) => timeToX(m.us)).filter(isVisible);
  drawSteps(c, t, visible(steps));
  const shown = ranges
    .filter((range) => range.depth < MAX_DEPTH)
    .map((range) => placeRange(c, range, timeToX(range.from), timeToX(range.to)))
    .filter((range) => range !== null);
  // Strips are as high as a line of text once a name fits into one of them.
  const strip = shown.some((range) => range.to - range.from > NAME_FROM * c.r)
    ? STRIP_NAMED
    : STRIP;
  for (const range of shown) drawRange(c, t, range, strip);
  // Marks that come with every few samples are listed in the text below the plot instead.
  if (!lane.meta.is_sampled || !areMany(c, visible(points))) drawPoints(c, t, visible(points));
  drawFailures(
    c,
    t,
    lane.meta.oom_events.map((oom) => ({ x: toX(axis.x(oom.event)), bytes: oom.bytes })),
  );
  drawVertical(c, toX(axis.x(Math.max(0, state.instant))), t.accent, [4, 3]);
  c.ctx.restore();
}

/** More marks than this would cover the curve with their lines. */
function areMany(c: Canvas, xs: number[]): boolean {
  return xs.length > c.width / c.r / 14;
}

/** Steps as lines while there is space between them, as ticks at the top when there are many. */
function drawSteps(c: Canvas, t: Theme, xs: number[]): void {
  const isMany = areMany(c, xs);
  drawUpright(c, xs, t.muted, isMany ? 0.5 : 0.28, isMany ? 6 * c.r : c.height);
}

/** The same for named points, whose lines are dashed. */
function drawPoints(c: Canvas, t: Theme, xs: number[]): void {
  if (areMany(c, xs)) drawUpright(c, xs, t.accent, 0.6, 6 * c.r);
  else for (const x of xs) drawVertical(c, x, t.accent, [2, 3]);
}

/** Thin lines from the top down, at most one per pixel. */
function drawUpright(c: Canvas, xs: number[], color: string, alpha: number, length: number): void {
  const { ctx, r } = c;
  ctx.strokeStyle = color;
  ctx.globalAlpha = alpha;
  ctx.lineWidth = r;
  ctx.beginPath();
  let last = -Infinity;
  for (const x of xs) {
    if (x - last < r) continue;
    last = x;
    ctx.moveTo(x, c.top);
    ctx.lineTo(x, c.top + length);
  }
  ctx.stroke();
  ctx.globalAlpha = 1;
}

/** A range as far as it is in view; null where it is not. */
function placeRange(c: Canvas, range: MarkRange, from: number, to: number): MarkRange | null {
  const a = Math.max(from, c.left);
  const b = Math.min(to, c.right);
  return b > a ? { ...range, from: a, to: b } : null;
}

/** A strip at the bottom with its name in it; ranges inside others lie above them. */
function drawRange(c: Canvas, t: Theme, { name, from, to, depth }: MarkRange, strip: number): void {
  const { ctx, r } = c;
  const y = c.bottom - (depth + 1) * strip * r;
  ctx.globalAlpha = 0.45;
  ctx.fillStyle = t.series[hash(name) % RANGE_COLORS]!;
  ctx.fillRect(from, y, Math.max(to - from, 1), (strip - 2) * r);
  ctx.globalAlpha = 1;
  if (to - from > NAME_FROM * r)
    drawLabel(c, name, from + 4 * r, y + (strip - 5) * r, t.ink, to - from);
}

/** Failed requests as lines; the last ones have labels, as many as do not overlap. */
function drawFailures(c: Canvas, t: Theme, all: { x: number; bytes: number }[]): void {
  let taken = Infinity;
  for (const { x, bytes } of all.slice().reverse()) {
    if (x < c.left || x > c.right) continue;
    drawVertical(c, x, t.bad, []);
    const text = `out of memory: ${fmt.bytes(bytes)}`;
    const width = labelWidth(c, text);
    // To the left of its line where there is no room to the right.
    const at = x + 5 * c.r + width > c.right ? x - 5 * c.r - width : x + 5 * c.r;
    if (at < c.left || at + width + LABEL_GAP * c.r > taken) continue;
    // On a translucent background: the limit and the curve are often at the same place.
    c.ctx.fillStyle = `${t.paper}d9`;
    c.ctx.fillRect(at - 3 * c.r, c.top + 3 * c.r, width + 6 * c.r, 15 * c.r);
    drawLabel(c, text, at, c.top + 14 * c.r, t.bad, Infinity);
    taken = at;
  }
}

const LABEL_GAP = 10;

function hash(text: string): number {
  let n = 0;
  for (let i = 0; i < text.length; i++) n = (Math.imul(n, 31) + text.charCodeAt(i)) >>> 0;
  return n;
}

function drawVertical(c: Canvas, x: number, color: string, dash: number[]): void {
  const { ctx, r } = c;
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.5 * r;
  ctx.setLineDash(dash.map((d) => d * r));
  ctx.beginPath();
  ctx.moveTo(x, c.top);
  ctx.lineTo(x, c.bottom);
  ctx.stroke();
  ctx.setLineDash([]);
}

function labelWidth({ ctx, r }: Canvas, text: string): number {
  ctx.font = `${11 * r}px ${fontFamily()}`;
  return ctx.measureText(text).width;
}

function drawLabel(
  c: Canvas,
  text: string,
  x: number,
  y: number,
  color: string,
  room: number,
): void {
  const { ctx, r } = c;
  ctx.font = `${11 * r}px ${fontFamily()}`;
  ctx.fillStyle = color;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.fillText(fitText(ctx, text, room - 8 * r), x, y);
}
