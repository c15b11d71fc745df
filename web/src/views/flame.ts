// The tree of calls that holds the bytes, as an icicle: width is bytes.
import { inkOn, lineColors, onTheme, shade, theme } from "../draw/colors.ts";
import { button, choice, h, replace, search } from "../draw/dom.ts";
import { drawToWidth } from "../draw/size.ts";
import { momentText } from "../draw/plot.ts";
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

const ROW = 20;

export async function flameView(state: State): Promise<HTMLElement[]> {
  const live = await state.lane.live();
  const hasHistory = state.lane.meta.events > 0;
  let measure: Measure = "live";
  let order: "callees" | "callers" = "callees";
  const hasNative = [...Array(state.names.frameCnt).keys()].some((f) => !state.names.isPython(f));
  let frames: FrameChoice = hasNative ? "python" : "all";
  let sums: StackSums = live.liveAt(state.instant);
  let root: TreeNode = { frame: -1, bytes: 0, blocks: 0, children: new Map(), parent: null };
  let focus = root;
  let selected = root;
  let boxes: Box[] = [];
  let found: Set<number> | null = null;

  const canvas = h("canvas", {
    tabindex: "0",
    role: "application",
    "aria-roledescription": "flame graph",
    "aria-label": "Flame graph. Arrow keys walk the tree, Enter zooms in, Escape zooms out.",
    class: "flame",
  });
  const holder = h("div", {}, canvas);
  const what = h("p", { class: "sub", id: "flame-what" });
  const status = h("p", { class: "readout", role: "status" });
  const hits = h("span", { class: "sub" });

  const label = (node: TreeNode): string =>
    node.frame < 0 ? "everything" : state.names.label(node.frame);
  const describe = (node: TreeNode): string => {
    const share = root.bytes > 0 ? fmt.percent(node.bytes / root.bytes) : "";
    const frame = node.frame < 0 ? null : state.names.frame(node.frame);
    const place =
      frame && frame.file !== "" ? ` — ${frame.file}${frame.line > 0 ? `:${frame.line}` : ""}` : "";
    return `${label(node)}: ${fmt.bytes(node.bytes)} (${fmt.exactBytes(node.bytes)}) in ${fmt.count(node.blocks)} blocks, ${share}${place}`;
  };

  const draw = (width: number): void => {
    const layout = layoutTree(focus, width, 0.6);
    boxes = layout.boxes;
    drawBoxes(
      canvas,
      boxes,
      width,
      layout.depth * ROW,
      frameColors(state, found),
      label,
      (n) => n === selected,
    );
    holder.setAttribute("data-hidden", String(layout.hidden));
  };
  const redraw = drawToWidth(holder, draw);

  const sayHits = (): void => {
    const bytes = found ? bytesThrough(root, found) : 0;
    hits.textContent = found
      ? `${fmt.bytes(bytes)} run through what was found${root.bytes > 0 ? `, ${fmt.percent(bytes / root.bytes)}` : ""}`
      : "";
  };

  const compute = (): void => {
    sums =
      measure === "live"
        ? live.liveAt(state.instant)
        : measure === "growth"
          ? live.growth(state.range)
          : live.churn(state.range);
    root = buildTree(sums, state.names, { order, frames, sign: 1 });
    focus = root;
    selected = root;
    what.textContent = describeMeasure(state, live, measure, sums, root.bytes);
    what.setAttribute("data-value", String(root.bytes));
    sayHits();
    status.textContent =
      root.bytes === 0 ? "Nothing to show: no bytes in this measure." : describe(root);
    redraw();
  };

  const pick = (x: number, y: number): TreeNode | null => {
    const depth = Math.floor(y / ROW);
    return boxes.find((b) => b.depth === depth && x >= b.x && x < b.x + b.width)?.node ?? null;
  };
  const zoomTo = (node: TreeNode): void => {
    focus = node;
    selected = node;
    status.textContent = describe(node);
    redraw();
  };
  canvas.addEventListener("mousemove", (e) => {
    const node = pick(e.offsetX, e.offsetY);
    if (node) status.textContent = describe(node);
  });
  canvas.addEventListener("click", (e) => {
    const node = pick(e.offsetX, e.offsetY);
    if (node) zoomTo(node === focus && node.parent ? node.parent : node);
  });
  canvas.addEventListener("keydown", (e) => {
    const next = walk(selected, e.key);
    if (e.key === "Enter") zoomTo(selected);
    else if (e.key === "Escape") zoomTo(root);
    else if (next) {
      selected = next;
      status.textContent = describe(next);
      redraw();
    } else return;
    e.preventDefault();
  });
  state.follow(canvas, ["instant"], () => {
    if (measure === "live") compute();
  });
  state.follow(canvas, ["range"], () => {
    if (measure !== "live") compute();
  });
  onTheme(redraw);
  compute();

  const measures: { value: Measure; label: string }[] = [
    { value: "live", label: hasHistory ? "Live at the moment" : "Live" },
  ];
  if (hasHistory)
    measures.push(
      { value: "growth", label: "Growth in the range" },
      { value: "churn", label: "Allocated in the range" },
    );
  return [
    h(
      "div",
      { class: "tools" },
      choice("Measure", measures, measure, (v) => {
        measure = v;
        compute();
      }),
      choice(
        "Order",
        [
          { value: "callees", label: "Callers on top" },
          { value: "callers", label: "Allocating line on top" },
        ],
        order,
        (v) => {
          order = v;
          compute();
        },
      ),
      choice(
        "Frames",
        frameChoices(hasNative, state.lane.meta.groups.module.length > 0),
        frames,
        (v) => {
          frames = v;
          compute();
        },
      ),
      hasHistory
        ? h(
            "div",
            { class: "buttons" },
            button("At the peak", () => {
              measure = "live";
              state.setInstant(state.lane.meta.peak_event);
              compute();
            }),
            button("Peak of the range", () => {
              state.setInstant(state.lane.curve.peak(state.range.from, state.range.to).event);
            }),
            button("At the end", () => state.setInstant(state.lane.lastEvent)),
          )
        : null,
      search("Find", "file, line or function", (text) => {
        found = findFrames(text, state.names);
        sayHits();
        redraw();
      }),
      hits,
    ),
    what,
    status,
    holder,
    heaviest(state, () => root, zoomTo),
  ];
}

function frameChoices(
  hasNative: boolean,
  hasModules: boolean,
): { value: FrameChoice; label: string }[] {
  const all: { value: FrameChoice; label: string; isOffered: boolean }[] = [
    { value: "all", label: "All", isOffered: true },
    { value: "python", label: "Python", isOffered: hasNative },
    { value: "user", label: "User code", isOffered: true },
    { value: "module", label: "Modules", isOffered: hasModules },
  ];
  return all.filter((c) => c.isOffered);
}

/** What was searched for alone in colour; else the user's own lines in the colour they have everywhere, libraries in one quiet tone, native code in another. */
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

function describeMeasure(
  state: State,
  live: LiveSets,
  measure: Measure,
  sums: StackSums,
  total: number,
): string {
  const when = (event: number): string => (event < 0 ? "the start" : momentText(state, event));
  const exact = live.isExact
    ? ""
    : " These figures are exact at the nearest checkpoint, which is used here.";
  if (state.lane.meta.events === 0)
    return `${fmt.bytes(total)} live in the state that the input holds.`;
  if (measure === "live")
    return `${fmt.bytes(total)} live ${sums.to < 0 ? "before the first event" : `after ${when(sums.to)}`}.${exact}`;
  const span = `from ${when(sums.from)} to ${when(sums.to)}`;
  if (measure === "growth")
    return `${fmt.bytes(total)} grew ${span}; lines that shrank are left out.${exact}`;
  return `${fmt.bytes(total)} allocated ${span}, whether freed again or not.${exact}`;
}

function walk(node: TreeNode, key: string): TreeNode | null {
  if (key === "ArrowUp") return node.parent;
  if (key === "ArrowDown") return largestFirst(node)[0] ?? null;
  if (key !== "ArrowLeft" && key !== "ArrowRight") return null;
  const siblings = node.parent ? largestFirst(node.parent) : [node];
  return siblings[siblings.indexOf(node) + (key === "ArrowRight" ? 1 : -1)] ?? null;
}

function drawBoxes(
  canvas: HTMLCanvasElement,
  boxes: Box[],
  width: number,
  height: number,
  color: (frame: number) => string,
  label: (n: TreeNode) => string,
  isSelected: (n: TreeNode) => boolean,
): void {
  const t = theme();
  const r = devicePixelRatio;
  canvas.width = Math.round(width * r);
  canvas.height = Math.round(height * r);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const ctx = canvas.getContext("2d")!;
  ctx.scale(r, r);
  ctx.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  ctx.textBaseline = "middle";
  for (const box of boxes) {
    const fill = box.node.frame < 0 ? t.rest : color(box.node.frame);
    const y = box.depth * ROW;
    ctx.fillStyle = fill;
    ctx.fillRect(box.x, y, Math.max(box.width - (box.width > 3 ? 1 : 0), 0.5), ROW - 1);
    if (isSelected(box.node)) {
      ctx.strokeStyle = t.ink;
      ctx.lineWidth = 2;
      ctx.strokeRect(box.x + 1, y + 1, box.width - 3, ROW - 3);
    }
    if (box.width < 28) continue;
    ctx.save();
    ctx.beginPath();
    ctx.rect(box.x, y, box.width - 4, ROW);
    ctx.clip();
    ctx.fillStyle = inkOn(fill);
    ctx.fillText(label(box.node), box.x + 5, y + ROW / 2);
    ctx.restore();
  }
}

/** The same as a short list, for keyboards, screen readers and paper. */
function heaviest(state: State, root: () => TreeNode, zoomTo: (n: TreeNode) => void): HTMLElement {
  const list = h("ol", {});
  const box = h(
    "details",
    {
      on: {
        toggle: () => {
          const rows: HTMLElement[] = [];
          let node = root();
          for (let depth = 0; depth < 60; depth++) {
            const next = largestFirst(node)[0];
            if (!next) break;
            const target = next;
            rows.push(
              h(
                "li",
                {},
                button(state.names.label(next.frame), () => zoomTo(target), { class: "link" }),
                ` ${fmt.bytes(next.bytes)}`,
              ),
            );
            node = next;
          }
          replace(list, ...rows);
        },
      },
    },
    h("summary", {}, "The heaviest path as a list"),
    list,
  );
  return box;
}
