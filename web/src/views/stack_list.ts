// A stack as text, innermost first, the user's own frames set apart.
import { h } from "../draw/dom.ts";
import { placeLink } from "../draw/place.ts";
import type { Names } from "../model/names.ts";

export function stackList(names: Names, stack: number): HTMLElement {
  const frames = names.stackFrames(stack);
  if (frames.length === 0) return h("p", { class: "sub" }, "No stack was recorded for it.");
  const site = names.siteOf(stack);
  return h(
    "ol",
    { class: "stack", tabindex: "0", "aria-label": "Stack, innermost call first" },
    ...frames.map((id) => {
      const f = names.frame(id)!;
      const kind = id === site ? "site" : f.user ? "user" : "library";
      return h(
        "li",
        { class: kind },
        h("span", { class: "fn" }, f.function || "(no name)"),
        " ",
        h("span", { class: "at" }, placeLink(f.file, f.line, names.wholePlace(id))),
      );
    }),
  );
}
