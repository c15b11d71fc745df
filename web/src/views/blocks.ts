// Every block as an area over time, stacked or at its address. Cells are numbers of blocks, so what is
// under the pointer needs no search.
import type uPlot from "uplot";
import { lineColors, onTheme, packed, shade, theme } from "../draw/colors.ts";
import { absent, choice, h, replace, search } from "../draw/dom.ts";
import { makePlot, xText } from "../draw/plot.ts";
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
import * as fmt from "../model/format.ts";
import type { State } from "../state.ts";
import { stackList } from "./stack_list.ts";
import { chip } from "./timeline.ts";

type Layout = "stacked" | "address";

/** While the range moves, columns are two pixels wide; this long after the last move they are one. */
const SETTLE_MS = 150;

const ADDRESS_NOTE =
  "The address space without the holes between segments: what is empty is free or reserved memory.";

export async function blocksView(state: State): Promise<HTMLElement[]> {
  const why = state.lane.meta.absent["timeline"];
  if (why) return [absent(why)];
  const lane = state.lane;
  const blocks = await lane.blocks();
  const ends = await lane.ends();
  const segments = await lane.segments();
  if (blocks.cnt === 0) return [absent("No block was allocated in this input.")];

  let layout: Layout = "stacked";
  let map: AddressMap | null = null;
  let folded: Folded | null = null;
  let picture: Picture | null = null;
  let found: Uint8Array | null = null;
  let pinned = -1;
  let colors: Uint32Array | null = null;
  let isMoving = false;
  let settle: ReturnType<typeof setTimeout> | undefined;
  let hovered = -1;
  const detail = h("div", { class: "detail", "aria-live": "polite" });
  const hits = h("span", { class: "sub" });
  const note = h("p", { class: "sub" });
  const legend = h("ul", { class: "legend" });
  const showLegend = (): void => {
    const colors = lineColors(lane.meta.groups.line, theme());
    replace(
      legend,
      ...lane.meta.groups.line
        .filter((g) => g.frame !== null)
        .slice(0, 8)
        .map((g) => h("li", {}, chip(colors(g.frame!)), state.names.label(g.frame!))),
    );
  };
  showLegend();

  const top = (): number => {
    if (layout === "address") return map!.total || 1;
    let max = 0;
    if (folded) for (const v of folded.max) if (v > max) max = v;
    return max * 1.04 || 1;
  };

  const data = (width: number, from: number, to: number): uPlot.AlignedData => {
    folded = lane.curve.fold(state.axis, from, to, isMoving ? width / 2 : width);
    if (layout === "address") map ??= compactAddresses(blocks, segments);
    return [folded.x, folded.x.map(() => NaN)];
  };

  const paint = (u: uPlot): void => {
    if (!folded) return;
    const width = folded.x.length;
    const height = Math.max(1, Math.round(u.bbox.height / devicePixelRatio));
    const spec = { width, height, top: top(), at: folded.at, total: folded.max };
    picture =
      layout === "stacked" ? stackPicture(blocks, ends, spec) : addressPicture(blocks, map!, spec);
    colors ??= blockColors(blocks, state, found, pinned);
    putPicture(u, picture, colors);
  };

  const at = (x: number, y: number): number => {
    if (!picture || !folded) return CELL_EMPTY;
    const [a, b] = state.span();
    const column = Math.floor(((x - a) / (b - a)) * picture.width);
    const row = picture.height - 1 - Math.floor((y / top()) * picture.height);
    if (column < 0 || column >= picture.width || row < 0 || row >= picture.height)
      return CELL_EMPTY;
    return picture.cells[row * picture.width + column]!;
  };

  const show = (): void => {
    const block = hovered >= 0 ? hovered : pinned;
    if (block >= 0) replace(detail, ...blockDetail(state, blocks, block, block === pinned));
    else if (hovered === CELL_REST)
      replace(detail, h("p", {}, `Blocks that are not drawn one by one. ${kept}`));
    else
      replace(
        detail,
        h(
          "p",
          { class: "sub" },
          "Point at a block to see its size, life and stack; a click keeps it here.",
        ),
      );
  };

  const kept = describeKept(
    lane.meta.blocks_kept,
    lane.meta.blocks_total,
    lane.meta.largest_left_bytes,
  );
  const plot = makePlot(state, {
    label:
      "Blocks over time, one area for each block. The table of lines holds the same figures as text.",
    height: 420,
    series: () => [{ points: { show: false } }],
    data,
    top,
    under: paint,
    hover: (x, y) => {
      const now = x === null || y === null ? CELL_EMPTY : at(x, y);
      if (now === hovered) return;
      hovered = now;
      show();
    },
    click: (x, y) => {
      const block = at(x, y);
      pinned = block >= 0 && block !== pinned ? block : -1;
      state.setInstant(state.axis.event(x));
      colors = null;
      show();
      plot.redraw();
    },
  });

  const find = (words: string): void => {
    found = blocks.search(words, state.names, state.data.meta.tag_names);
    colors = null;
    const cnt = found ? found.reduce((a, b) => a + b, 0) : 0;
    hits.textContent = found ? `${fmt.count(cnt)} blocks match` : "";
    plot.redraw();
  };
  const field = search(
    "Find blocks",
    `file, function, ${lane.meta.groups.tag.length > 0 ? "tag, " : ""}0x7f…, 512, >20m`,
    find,
  );
  const takeHighlight = (): void => {
    field.querySelector("input")!.value = state.highlight;
    find(state.highlight);
  };
  state.follow(plot.root, ["range"], () => {
    isMoving = true;
    clearTimeout(settle);
    settle = setTimeout(() => {
      isMoving = false;
      plot.redraw();
    }, SETTLE_MS);
    plot.redraw();
  });
  state.follow(plot.root, ["highlight"], takeHighlight);
  state.follow(plot.root, ["axis"], plot.rebuild);
  onTheme(() => {
    colors = null;
    plot.rebuild();
    showLegend();
  });
  if (state.highlight !== "") takeHighlight();
  show();

  return [
    h(
      "div",
      { class: "tools" },
      choice(
        "Layout",
        [
          { value: "stacked", label: "Stacked by age" },
          { value: "address", label: "By address" },
        ],
        layout,
        (v) => {
          layout = v;
          note.textContent = v === "stacked" ? "" : ADDRESS_NOTE;
          plot.redraw();
        },
      ),
      field,
      hits,
    ),
    legend,
    plot.root,
    h(
      "p",
      { class: "sub" },
      kept,
      " Each pixel column shows the moment within it at which most was live.",
    ),
    note,
    detail,
  ];
}

/** Colours by user line, one block a shade off the next so that neighbours stay apart. */
function blockColors(
  blocks: Blocks,
  state: State,
  found: Uint8Array | null,
  pinned: number,
): Uint32Array {
  const t = theme();
  const dim = packed(t.free);
  const lineColor = lineColors(state.lane.meta.groups.line, t);
  const pairs = Array.from({ length: state.names.stackCnt }, (_, stack): [number, number] => {
    const base = lineColor(state.names.siteOf(stack));
    return [packed(base), packed(shade(base, 0.12))];
  });
  const out = new Uint32Array(blocks.cnt);
  for (let b = 0; b < blocks.cnt; b++)
    out[b] = found && found[b] === 0 ? dim : pairs[blocks.stack[b]!]![b & 1]!;
  if (pinned >= 0) out[pinned] = packed(t.ink);
  return out;
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
  const axis = state.axis;
  const begin = b.beforeTrace
    ? "before the trace"
    : `${xText(state, axis.x(b.begin))}, event ${fmt.count(b.begin)}`;
  const end = b.neverFreed
    ? "never freed"
    : `${fmt.duration(b.lifeUs)}, ${fmt.count(b.end - b.begin)} events`;
  const row = (name: string, text: string): HTMLElement =>
    h("div", {}, h("dt", {}, name), h("dd", {}, text));
  const module = state.names.moduleOf(b.stack);
  return [
    h(
      "h3",
      {},
      state.names.label(state.names.siteOf(b.stack)),
      isPinned ? h("span", { class: "severity" }, "kept here") : null,
    ),
    h(
      "dl",
      { class: "figures" },
      row("Size", `${fmt.bytes(b.size)} (${fmt.exactBytes(b.size)})`),
      row("Address", b.address),
      state.lane.meta.groups.tag.length > 0
        ? row("For", state.data.meta.tag_names[blocks.tag(index)] ?? "not known")
        : null,
      module === null ? null : row("Module", module),
      row("Allocated", begin),
      row("Life", end),
    ),
    stackList(state.names, b.stack),
  ];
}
