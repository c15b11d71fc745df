// What keys and pointer do in every plot, and what the reader can set, in a dialog.
import { button, h, select } from "../draw/dom.ts";
import { EDITORS, setEditor } from "../draw/place.ts";
import { KEYS } from "../draw/plot.ts";
import { preferences } from "../preferences.ts";

const POINTER: [string, string][] = [
  ["Drag", "Select a range; every view below follows it"],
  ["Shift and drag", "Pan"],
  ["Ctrl and wheel", "Zoom"],
  ["Click", "Choose the moment that the flame graph and the segments show"],
  ["Double click", "Show the whole run"],
];

function row(names: string[], text: string, tag: "kbd" | "span"): HTMLElement {
  const keys = names.flatMap((name, i) => [...(i > 0 ? [" "] : []), h(tag, {}, name)]);
  return h("tr", {}, h("th", { scope: "row" }, ...keys), h("td", {}, text));
}

function keyTable(): HTMLElement {
  return h(
    "table",
    { class: "keys" },
    h(
      "tbody",
      {},
      ...KEYS.map((k) => row(k.names, k.text, "kbd")),
      row(["?"], "Show this help", "kbd"),
      ...POINTER.map(([name, text]) => row([name], text, "span")),
    ),
  );
}

function editorField(): HTMLElement {
  const editors = Object.entries(EDITORS).map(([value, { name }]) => ({ value, label: name }));
  const none = { value: "", label: "no links" };
  return select("Open file:line in", [none, ...editors], preferences().editor, setEditor);
}

/** The button that opens the dialog; "?" does so too, unless somebody is typing. */
export function helpButton(): HTMLElement {
  const dialog = h(
    "dialog",
    { class: "help", "aria-labelledby": "help-title" },
    h("h2", { id: "help-title" }, "Keys and settings"),
    h("p", { class: "sub" }, "In every plot:"),
    keyTable(),
    h("p", {}, editorField()),
    h(
      "p",
      { class: "sub" },
      "Links work where the files of the run are at the same path on this machine.",
    ),
    h(
      "div",
      { class: "buttons" },
      button("Close", () => dialog.close()),
    ),
  );
  // A click on the backdrop has the dialog itself as its target; a click on its content has not.
  dialog.addEventListener("click", (e) => {
    const { left, right, top, bottom } = dialog.getBoundingClientRect();
    const isInside =
      e.clientX >= left && e.clientX <= right && e.clientY >= top && e.clientY <= bottom;
    if (e.target === dialog && !isInside) dialog.close();
  });
  const open = (): void => {
    if (!dialog.open) dialog.showModal();
  };
  addEventListener("keydown", (e) => {
    const isTyping =
      e.target instanceof Element && e.target.matches("input[type=search], textarea");
    if (e.key === "?" && !isTyping) open();
  });
  return h("div", {}, button("Keys", open, { "aria-haspopup": "dialog" }), dialog);
}
