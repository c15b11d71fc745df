// The tree of calls that holds the bytes, as an icicle: width is bytes.
import { inkOn, lineColors, onTheme, shade, theme } from "../draw/colors.ts";
import { button, choice, h, replace, search, type Choice } from "../draw/dom.ts";
import { fitText, fontFamily, sizeCanvas } from "../draw/parts.ts";
import { drawToWidth } from "../draw/size.ts";
import * as fmt from "../model/format.ts";
import type { LiveSets, StackSums } from "../model/live.ts";
import {
  buildTree,
  bytesThrough,
  findFrames,
  largestFirst,
  layoutTree,
  type Box,
  type FrameChoice,
  type TreeNode,
} from "../model/tree.ts";
import type { State } from "../state.ts";

type Measure = "live" | "growth" | "churn";
type Order = "callees" | "callers";

const ROW = 20;
/** Boxes below the first width are skipped, those below the second have no text. */
const BOX_MIN = 0.6;
const TEXT_MIN = 28;
const LIST_MAX = 60;

const ORDERS: Choice<Order>[] = [
  { value: "callees", label: "Callers on top" },
  { value: "callers", label: "Allocating line on top" },
];

const LABEL = "Flame graph. Arrow keys walk the tree, Enter zooms in, Escape zooms out.";

export async function flameView(state: State): Promise<HTMLElement[]> {
  return new FlameView(state, await state.lane.live()).elements();
}

class FlameView {
  private readonly state: State;
  private readonly live: LiveSets;
  private readonly hasHistory: boolean;
  private readonly hasNative: boolean;
  private readonly redraw: () => void;

  private measure: Measure = "live";
  private order: Order = "callees";
  private frames: FrameChoice;
  private root: TreeNode = { frame: -1, bytes: 0, blocks: 0, children: new Map(), parent: null };
  private focus = this.root;
  private selected = this.root;
  private boxes: Box[] = [];
  private found: Set<number> | null = null;

  private readonly canvas = h("canvas", {
    tabindex: "0",
    role: "application",
    "aria-roledescription": "flame graph",
    "aria-label": LABEL,
    class: "flame",
  });
  private readonly holder = h("div", {}, this.canvas);
  private readonly what = h("p", { class: "sub", id: "flame-what" });
  private readonly status = h("p", { class: "readout", role: "status" });
  private readonly hits = h("span", { class: "sub" });

  constructor(state: State, live: LiveSets) {
    this.state = state;
    this.live = live;
    this.hasHistory = state.lane.meta.events > 0;
    const frames = [...Array(state.names.frameCnt).keys()];
    this.hasNative = frames.some((f) => !state.names.isPython(f));
    this.frames = this.hasNative ? "python" : "all";
    this.redraw = drawToWidth(this.holder, (width) => this.draw(width));
    this.listen();
    this.compute();
  }

  elements(): HTMLElement[] {
    const tools = h(
      "div",
      { class: "tools" },
      choice("Measure", this.measures(), this.measure, (v) => this.set({ measure: v })),
      choice("Order", ORDERS, this.order, (v) => this.set({ order: v })),
      choice("Frames", this.frameChoices(), this.frames, (v) => this.set({ frames: v })),
      this.hasHistory ? this.moments() : null,
      search("Find", "file, line or function", (text) => this.find(text)),
      this.hits,
    );
    return [tools, this.what, this.status, this.holder, this.heaviest()];
  }

  private measures(): Choice<Measure>[] {
    if (!this.hasHistory) return [{ value: "live", label: "Live" }];
    return [
      { value: "live", label: "Live at the moment" },
      { value: "growth", label: "Growth in the range" },
      { value: "churn", label: "Allocated in the range" },
    ];
  }

  private frameChoices(): Choice<FrameChoice>[] {
    const hasModules = this.state.lane.meta.groups.module.length > 0;
    const all: (Choice<FrameChoice> & { isOffered: boolean })[] = [
      { value: "all", label: "All", isOffered: true },
      { value: "python", label: "Python", isOffered: this.hasNative },
      { value: "user", label: "User code", isOffered: true },
      { value: "module", label: "Modules", isOffered: hasModules },
    ];
    return all.filter((c) => c.isOffered);
  }

  private moments(): HTMLElement {
    const { state } = this;
    const { curve, meta, lastEvent } = state.lane;
    const atPeak = (): void => {
      this.measure = "live";
      state.setInstant(meta.peak_event);
      this.compute();
    };
    const atPeakOfRange = (): void =>
      state.setInstant(curve.peak(state.range.from, state.range.to).event);
    return h(
      "div",
      { class: "buttons" },
      button("At the peak", atPeak),
      button("Peak of the range", atPeakOfRange),
      button("At the end", () => state.setInstant(lastEvent)),
    );
  }

  private listen(): void {
    const { canvas, state } = this;
    canvas.addEventListener("mousemove", (e) => {
      const node = this.pick(e.offsetX, e.offsetY);
      if (node) this.status.textContent = this.describe(node);
    });
    canvas.addEventListener("click", (e) => {
      const node = this.pick(e.offsetX, e.offsetY);
      if (node) this.zoomTo(node === this.focus && node.parent ? node.parent : node);
    });
    canvas.addEventListener("keydown", (e) => this.walk(e));
    state.follow(canvas, ["instant"], () => {
      if (this.measure === "live") this.compute();
    });
    state.follow(canvas, ["range"], () => {
      if (this.measure !== "live") this.compute();
    });
    onTheme(this.redraw);
  }

  private set(chosen: { measure?: Measure; order?: Order; frames?: FrameChoice }): void {
    this.measure = chosen.measure ?? this.measure;
    this.order = chosen.order ?? this.order;
    this.frames = chosen.frames ?? this.frames;
    this.compute();
  }

  private sums(): StackSums {
    const { live, state } = this;
    const of: Record<Measure, () => StackSums> = {
      live: () => live.liveAt(state.instant),
      growth: () => live.growth(state.range),
      churn: () => live.churn(state.range),
    };
    return of[this.measure]();
  }

  private compute(): void {
    const { order, frames } = this;
    const sums = this.sums();
    this.root = buildTree(sums, this.state.names, { order, frames, sign: 1 });
    this.what.textContent = this.describeMeasure(sums);
    this.what.setAttribute("data-value", String(this.root.bytes));
    this.sayHits();
    this.zoomTo(this.root);
    if (this.root.bytes === 0)
      this.status.textContent = "Nothing to show: no bytes in this measure.";
  }

  private draw(width: number): void {
    const layout = layoutTree(this.focus, width, BOX_MIN);
    this.boxes = layout.boxes;
    const ctx = sizeCanvas(this.canvas, width, layout.depth * ROW);
    ctx.font = `12px ${fontFamily()}`;
    ctx.textBaseline = "middle";
    const { rest, ink } = theme();
    const color = frameColors(this.state, this.found);
    for (const box of this.boxes) {
      const fill = box.node.frame < 0 ? rest : color(box.node.frame);
      drawBox(ctx, box, fill, this.label(box.node), box.node === this.selected ? ink : null);
    }
    this.holder.setAttribute("data-hidden", String(layout.hidden));
  }

  private find(text: string): void {
    this.found = findFrames(text, this.state.names);
    this.sayHits();
    this.redraw();
  }

  private sayHits(): void {
    const bytes = this.found ? bytesThrough(this.root, this.found) : 0;
    const share = this.root.bytes > 0 ? `, ${fmt.percent(bytes / this.root.bytes)}` : "";
    this.hits.textContent = this.found
      ? `${fmt.bytes(bytes)} run through what was found${share}`
      : "";
  }

  private pick(x: number, y: number): TreeNode | null {
    const depth = Math.floor(y / ROW);
    const isHit = (b: Box): boolean => b.depth === depth && x >= b.x && x < b.x + b.width;
    return this.boxes.find(isHit)?.node ?? null;
  }

  private zoomTo(node: TreeNode): void {
    this.focus = node;
    this.select(node);
  }

  private select(node: TreeNode): void {
    this.selected = node;
    this.status.textContent = this.describe(node);
    this.redraw();
  }

  private walk(e: KeyboardEvent): void {
    if (e.key === "Enter") this.zoomTo(this.selected);
    else if (e.key === "Escape") this.zoomTo(this.root);
    else {
      const next = neighbour(this.selected, e.key);
      if (!next) return;
      this.select(next);
    }
    e.preventDefault();
  }

  private label(node: TreeNode): string {
    return node.frame < 0 ? "everything" : this.state.names.label(node.frame);
  }

  private describe(node: TreeNode): string {
    const share = this.root.bytes > 0 ? fmt.percent(node.bytes / this.root.bytes) : "";
    const frame = node.frame < 0 ? null : this.state.names.frame(node.frame);
    const line = frame && frame.line > 0 ? `:${frame.line}` : "";
    const place = frame && frame.file !== "" ? ` — ${frame.file}${line}` : "";
    const blocks = fmt.plural(node.blocks, "block");
    const size = `${fmt.bytes(node.bytes)} (${fmt.exactBytes(node.bytes)})`;
    return `${this.label(node)}: ${size} in ${blocks}, ${share}${place}`;
  }

  private describeMeasure(sums: StackSums): string {
    const { lane } = this.state;
    const total = fmt.bytes(this.root.bytes);
    if (!this.hasHistory) return `${total} live in the state that the input holds.`;
    const when = (event: number): string => (event < 0 ? "the start" : lane.momentText(event));
    const at = sums.to < 0 ? "before the first event" : `after ${when(sums.to)}`;
    const span = `from ${when(sums.from)} to ${when(sums.to)}`;
    const said: Record<Measure, string> = {
      live: `${total} live ${at}.`,
      growth: `${total} grew ${span}; lines that shrank are left out.`,
      churn: `${total} allocated ${span}, whether freed again or not.`,
    };
    const note = " These figures are exact at the nearest checkpoint, which is used here.";
    return said[this.measure] + (this.live.isExact ? "" : note);
  }

  /** The same as a short list, for keyboard, screen reader and print. */
  private heaviest(): HTMLElement {
    const list = h("ol", {});
    const fill = (): void => {
      const rows: HTMLElement[] = [];
      let node = largestFirst(this.root)[0];
      for (; node && rows.length < LIST_MAX; node = largestFirst(node)[0]) {
        const target = node;
        const name = button(this.label(node), () => this.zoomTo(target), { class: "link" });
        rows.push(h("li", {}, name, ` ${fmt.bytes(node.bytes)}`));
      }
      replace(list, ...rows);
    };
    const summary = h("summary", {}, "The heaviest path as a list");
    return h("details", { on: { toggle: fill } }, summary, list);
  }
}

/**
 * With a search, only the matches are coloured; otherwise the user's own lines have the colour they
 * have in every view, libraries one muted colour, native code another.
 */
function frameColors(state: State, found: Set<number> | null): (frame: number) => string {
  const t = theme();
  const line = lineColors(state.lane.meta.groups.line, t);
  return (frame) => {
    if (found) return found.has(frame) ? t.series[1]! : t.free;
    if (state.names.isUser(frame)) return line(frame);
    const tone = state.names.isPython(frame) ? t.library : t.rest;
    return shade(tone, 0.08 * (Math.imul(frame + 7, 2654435761) >>> 30));
  };
}

/** Where an arrow key leads from a node. */
function neighbour(node: TreeNode, key: string): TreeNode | null {
  if (key === "ArrowUp") return node.parent;
  if (key === "ArrowDown") return largestFirst(node)[0] ?? null;
  if (key !== "ArrowLeft" && key !== "ArrowRight") return null;
  const siblings = node.parent ? largestFirst(node.parent) : [node];
  return siblings[siblings.indexOf(node) + (key === "ArrowRight" ? 1 : -1)] ?? null;
}

function drawBox(
  ctx: CanvasRenderingContext2D,
  box: Box,
  fill: string,
  text: string,
  frame: string | null,
): void {
  const y = box.depth * ROW;
  ctx.fillStyle = fill;
  ctx.fillRect(box.x, y, Math.max(box.width - (box.width > 3 ? 1 : 0), 0.5), ROW - 1);
  if (frame !== null) {
    ctx.strokeStyle = frame;
    ctx.lineWidth = 2;
    ctx.strokeRect(box.x + 1, y + 1, box.width - 3, ROW - 3);
  }
  if (box.width < TEXT_MIN) return;
  ctx.fillStyle = inkOn(fill);
  ctx.fillText(fitText(ctx, text, box.width - 9), box.x + 5, y + ROW / 2);
}
