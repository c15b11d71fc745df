// Every block as an area over time, stacked or at its address. Cells are numbers of blocks, so what
// is under the pointer needs no search.
import type uPlot from "uplot";
import { lineColors, onTheme, packed, shade, theme } from "../draw/colors.ts";
import { absent, choice, h, replace, search } from "../draw/dom.ts";
import { figure, figures, legendItem } from "../draw/parts.ts";
import { makePlot, type Plot } from "../draw/plot.ts";
import {
  CELL_EMPTY,
  CELL_REST,
  addressPicture,
  compactAddresses,
  describeKept,
  stackPicture,
  type AddressMap,
  type Blocks,
  type Picture,
} from "../model/blocks.ts";
import type { Folded } from "../model/curve.ts";
import type { Columns } from "../model/data.ts";
import * as fmt from "../model/format.ts";
import type { Lane, State } from "../state.ts";
import { stackList } from "./stack_list.ts";

type Layout = "stacked" | "address";

/**
 * While the range moves, columns are two pixels wide; this long after the last move they are one.
 */
const SETTLE_MS = 150;
const LEGEND_MAX = 8;

const NOTES: Record<Layout, string> = {
  stacked: "",
  address:
    "The address space without the holes between segments: " +
    "what is empty is free or reserved memory.",
};

const HINT = "Point at a block to see its size, life and stack; a click keeps it here.";

export async function blocksView(state: State): Promise<HTMLElement[]> {
  const why = state.lane.meta.absent["timeline"];
  if (why) return [absent(why)];
  const { lane } = state;
  const [blocks, ends, segments] = [await lane.blocks(), await lane.ends(), await lane.segments()];
  if (blocks.cnt === 0) return [absent("No block was allocated in this input.")];
  return new BlocksView(state, blocks, ends, segments).elements();
}

class BlocksView {
  private readonly state: State;
  private readonly lane: Lane;
  private readonly blocks: Blocks;
  private readonly ends: Uint32Array;
  private readonly segments: Columns<"segments"> | null;
  private readonly plot: Plot;
  private readonly kept: string;

  private layout: Layout = "stacked";
  private addresses: AddressMap | null = null;
  private folded: Folded | null = null;
  private picture: Picture | null = null;
  private colors: Uint32Array | null = null;
  private found: Uint8Array | null = null;
  /** cells: a block, CELL_EMPTY or CELL_REST */
  private hovered = CELL_EMPTY;
  private pinned = CELL_EMPTY;
  private isMoving = false;
  private settle: ReturnType<typeof setTimeout> | undefined;

  private readonly detail = h("div", { class: "detail", "aria-live": "polite" });
  private readonly hits = h("span", { class: "sub" });
  private readonly note = h("p", { class: "sub" });
  private readonly legend = h("ul", { class: "legend" });
  private readonly field: HTMLElement;

  constructor(
    state: State,
    blocks: Blocks,
    ends: Uint32Array,
    segments: Columns<"segments"> | null,
  ) {
    this.state = state;
    this.lane = state.lane;
    this.blocks = blocks;
    this.ends = ends;
    this.segments = segments;
    const { blocks_kept, blocks_total, largest_left_bytes, groups } = this.lane.meta;
    this.kept = describeKept(blocks_kept, blocks_total, largest_left_bytes);
    const what = groups.tag.length > 0 ? "tag" : "function";
    this.field = search("Find blocks", `file, ${what}, 0x7f…, 512, >20m`, (words) =>
      this.find(words),
    );
    this.plot = this.makePlot();
    this.follow();
    this.showLegend();
    this.showDetail();
    if (state.highlight !== "") this.takeHighlight();
  }

  elements(): HTMLElement[] {
    const layouts: { value: Layout; label: string }[] = [
      { value: "stacked", label: "Stacked by age" },
      { value: "address", label: "By address" },
    ];
    return [
      h(
        "div",
        { class: "tools" },
        choice("Layout", layouts, this.layout, (v) => this.setLayout(v)),
        this.field,
        this.hits,
      ),
      this.legend,
      this.plot.root,
      h(
        "p",
        { class: "sub" },
        `${this.kept} Each pixel column shows the moment within it at which most was live.`,
      ),
      this.note,
      this.detail,
    ];
  }

  private makePlot(): Plot {
    return makePlot(this.state, {
      label:
        "Blocks over time, one area for each block. " +
        "The table of lines holds the same figures as text.",
      height: 420,
      series: () => [{ points: { show: false } }],
      data: (width, from, to) => this.fold(width, from, to),
      top: () => this.top(),
      under: (u) => this.paint(u),
      hover: (x, y) => this.hover(x === null || y === null ? CELL_EMPTY : this.cellAt(x, y)),
      click: (x, y) => this.pin(x, y),
    });
  }

  private follow(): void {
    const { root, rebuild } = this.plot;
    this.state.follow(root, ["range"], () => this.move());
    this.state.follow(root, ["highlight"], () => this.takeHighlight());
    this.state.follow(root, ["axis"], rebuild);
    onTheme(() => {
      this.colors = null;
      rebuild();
      this.showLegend();
    });
  }

  private fold(width: number, from: number, to: number): uPlot.AlignedData {
    const columns = this.isMoving ? width / 2 : width;
    this.folded = this.lane.curve.fold(this.state.axis, from, to, columns);
    if (this.layout === "address") this.addresses ??= compactAddresses(this.blocks, this.segments);
    return [this.folded.x, this.folded.x.map(() => NaN)];
  }

  private top(): number {
    if (this.layout === "address") return this.addresses!.total || 1;
    const highest = this.folded?.max.reduce((m, v) => (v > m ? v : m), 0) ?? 0;
    return highest * 1.04 || 1;
  }

  private paint(u: uPlot): void {
    if (!this.folded) return;
    const { x, at, max } = this.folded;
    const height = Math.max(1, Math.round(u.bbox.height / devicePixelRatio));
    const spec = { width: x.length, height, top: this.top(), at, total: max };
    this.picture =
      this.layout === "stacked"
        ? stackPicture(this.blocks, this.ends, spec)
        : addressPicture(this.blocks, this.addresses!, spec);
    this.colors ??= blockColors(this.blocks, this.state, this.found, this.pinned);
    putPicture(u, this.picture, this.colors);
  }

  private cellAt(x: number, y: number): number {
    if (!this.picture) return CELL_EMPTY;
    const { width, height, cells } = this.picture;
    const [a, b] = this.state.span();
    const column = Math.floor(((x - a) / (b - a)) * width);
    const row = height - 1 - Math.floor((y / this.top()) * height);
    if (column < 0 || column >= width || row < 0 || row >= height) return CELL_EMPTY;
    return cells[row * width + column]!;
  }

  private hover(cell: number): void {
    if (cell === this.hovered) return;
    this.hovered = cell;
    this.showDetail();
  }

  private pin(x: number, y: number): void {
    const cell = this.cellAt(x, y);
    this.pinned = cell >= 0 && cell !== this.pinned ? cell : CELL_EMPTY;
    this.state.setInstant(this.state.axis.event(x));
    this.colors = null;
    this.showDetail();
    this.plot.redraw();
  }

  private showDetail(): void {
    const block = this.hovered >= 0 ? this.hovered : this.pinned;
    if (block >= 0)
      replace(this.detail, ...blockDetail(this.state, this.blocks, block, block === this.pinned));
    else if (this.hovered === CELL_REST)
      replace(this.detail, h("p", {}, `Blocks that are not drawn one by one. ${this.kept}`));
    else replace(this.detail, h("p", { class: "sub" }, HINT));
  }

  private showLegend(): void {
    const { line } = this.lane.meta.groups;
    const color = lineColors(line, theme());
    const frames = line.map((g) => g.frame).filter((f) => f !== null);
    const { names } = this.state;
    const items = frames.slice(0, LEGEND_MAX).map((f) => legendItem(color(f), names.label(f)));
    const left = frames.length - items.length;
    const more = left > 0 ? h("li", {}, `and ${fmt.plural(left, "more line")}`) : null;
    replace(this.legend, ...items, more);
  }

  private setLayout(layout: Layout): void {
    this.layout = layout;
    this.note.textContent = NOTES[layout];
    this.plot.redraw();
  }

  private find(words: string): void {
    this.found = this.blocks.search(words, this.state.names, this.state.data.meta.tag_names);
    this.colors = null;
    const cnt = this.found ? this.found.reduce((a, b) => a + b, 0) : 0;
    this.hits.textContent = this.found ? `${fmt.count(cnt)} blocks match` : "";
    this.plot.redraw();
  }

  private takeHighlight(): void {
    this.field.querySelector("input")!.value = this.state.highlight;
    this.find(this.state.highlight);
  }

  /** Coarse while the range moves, fine once it stops. */
  private move(): void {
    this.isMoving = true;
    clearTimeout(this.settle);
    this.settle = setTimeout(() => {
      this.isMoving = false;
      this.plot.redraw();
    }, SETTLE_MS);
    this.plot.redraw();
  }
}

const SHADES = [0, 0.14, -0.1];

/** Colours by user line; blocks of a line that were allocated in a row differ by a shade. */
function blockColors(
  blocks: Blocks,
  state: State,
  found: Uint8Array | null,
  pinned: number,
): Uint32Array {
  const t = theme();
  const dim = packed(t.free);
  const lineColor = lineColors(state.lane.meta.groups.line, t);
  const { names } = state;
  const shades = Array.from({ length: names.stackCnt }, (_, stack) => {
    const base = lineColor(names.siteOf(stack));
    return SHADES.map((share) => packed(shade(base, share)));
  });
  const nthOfLine = new Map<number, number>();
  const out = new Uint32Array(blocks.cnt);
  for (let b = 0; b < blocks.cnt; b++) {
    const stack = blocks.stack[b]!;
    const line = names.siteOf(stack);
    const nth = nthOfLine.get(line) ?? 0;
    nthOfLine.set(line, nth + 1);
    out[b] = found && found[b] === 0 ? dim : shades[stack]![nth % SHADES.length]!;
  }
  if (pinned >= 0) out[pinned] = packed(t.ink);
  return out;
}

/** A block at least this high is separated from the one below by a line. */
const EDGE_FROM = 4;

/** Draws the lowest row of every block that is high enough in the background colour. */
function drawEdges({ width, height, cells }: Picture, pixels: Uint32Array, edge: number): void {
  for (let x = 0; x < width; x++) {
    let run = 0;
    for (let y = 0; y < height; y++) {
      const at = y * width + x;
      run = y > 0 && cells[at] === cells[at - width] ? run + 1 : 1;
      const isLast = y + 1 < height && cells[at + width] !== cells[at];
      if (isLast && cells[at]! >= 0 && cells[at + width]! >= 0 && run >= EDGE_FROM)
        pixels[at] = edge;
    }
  }
}

function putPicture(u: uPlot, picture: Picture, colors: Uint32Array): void {
  const rest = packed(theme().rest);
  const image = new ImageData(picture.width, picture.height);
  const pixels = new Uint32Array(image.data.buffer);
  const { cells } = picture;
  for (let i = 0; i < pixels.length; i++) {
    const cell = cells[i]!;
    if (cell >= 0) pixels[i] = colors[cell]!;
    else if (cell === CELL_REST) pixels[i] = rest;
  }
  drawEdges(picture, pixels, packed(theme().paper));
  const canvas = scratch(picture.width, picture.height);
  canvas.getContext("2d")!.putImageData(image, 0, 0);
  const { left, top, width, height } = u.bbox;
  u.ctx.imageSmoothingEnabled = false;
  u.ctx.drawImage(canvas, left, top, width, height);
}

let scratchCanvas: HTMLCanvasElement | null = null;

function scratch(width: number, height: number): HTMLCanvasElement {
  scratchCanvas ??= document.createElement("canvas");
  if (scratchCanvas.width !== width || scratchCanvas.height !== height) {
    scratchCanvas.width = width;
    scratchCanvas.height = height;
  }
  return scratchCanvas;
}

function blockDetail(
  state: State,
  blocks: Blocks,
  index: number,
  isPinned: boolean,
): HTMLElement[] {
  const b = blocks.info(index);
  const { names, lane } = state;
  const hasTags = lane.meta.groups.tag.length > 0;
  const module = names.moduleOf(b.stack);
  return [
    h(
      "h3",
      {},
      names.label(names.siteOf(b.stack)),
      isPinned ? h("span", { class: "severity" }, "kept here") : null,
    ),
    figures(
      figure("Size", `${fmt.bytes(b.size)} (${fmt.exactBytes(b.size)})`),
      figure("Address", b.address),
      hasTags ? figure("Tag", state.data.meta.tag_names[blocks.tag(index)] ?? "not known") : null,
      module === null ? null : figure("Module", module),
      figure("Allocated", b.beforeTrace ? "before the trace" : lane.momentText(b.begin)),
      figure("Life", b.neverFreed ? "never freed" : lane.lifeText(b.lifeUs, b.end - b.begin)),
    ),
    stackList(names, b.stack),
  ];
}
