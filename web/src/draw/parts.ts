// Parts that several views are made of: figures, legends, tables.
import { h, type Child } from "./dom.ts";

/**
 * A name and its figure, for a list of class "figures". The exact value is for scripts and tests.
 */
export function figure(
  name: string,
  text: string,
  value?: number | null,
  id?: string,
): HTMLElement {
  return h("div", {}, h("dt", {}, name), h("dd", { id, "data-value": value }, text));
}

export function figures(...list: (HTMLElement | null)[]): HTMLElement {
  return h("dl", { class: "figures" }, ...list);
}

/** Styles in attributes are forbidden by the page's policy; those set by a script are not. */
export function chip(color: string): HTMLElement {
  const el = h("span", { class: "chip", "aria-hidden": "true" });
  el.style.backgroundColor = color;
  return el;
}

export function legendItem(color: string, text: string, isLine = false): HTMLElement {
  return h("li", { class: isLine ? "line" : "" }, chip(color), text);
}

/** The head of a table whose first column is text and whose others are numbers. */
export function tableHead(first: string, ...numbers: string[]): HTMLElement {
  return h(
    "thead",
    {},
    h(
      "tr",
      {},
      h("th", { scope: "col", class: "text" }, first),
      ...numbers.map((name) => h("th", { scope: "col", class: "number" }, name)),
    ),
  );
}

export function rowName(...parts: Child[]): HTMLElement {
  return h("th", { scope: "row", class: "text" }, ...parts);
}

export function numberCell(text: string, value?: number | string | null): HTMLElement {
  return h("td", { class: "number", "data-value": value }, text);
}

/** On a small screen a wide table scrolls sideways, by keyboard too. */
export function scrolled(label: string, ...children: HTMLElement[]): HTMLElement {
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    ...children,
  );
}

/**
 * What the drawing surface of a canvas is made for; the context is scaled to pixels of the page.
 */
export function sizeCanvas(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D {
  const r = devicePixelRatio;
  canvas.width = Math.round(width * r);
  canvas.height = Math.max(1, Math.round(height * r));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const ctx = canvas.getContext("2d")!;
  ctx.scale(r, r);
  return ctx;
}

/** The text as far as it fits, with an ellipsis; "" where not even a few letters do. */
export function fitText(ctx: CanvasRenderingContext2D, text: string, room: number): string {
  const width = ctx.measureText(text).width;
  if (width <= room) return text;
  let length = Math.floor((text.length * room) / width);
  while (length > 2 && ctx.measureText(`${text.slice(0, length)}…`).width > room) length--;
  return length > 2 ? `${text.slice(0, length)}…` : "";
}

export function fontFamily(): string {
  return getComputedStyle(document.body).fontFamily;
}
