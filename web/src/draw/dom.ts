// Elements from data. Text always goes in as text: nothing from the input is ever parsed as markup.

export type Child = Node | string | null;

export interface Attrs {
  class?: string;
  title?: string | null;
  on?: Record<string, (event: Event) => void>;
  [name: string]: unknown;
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attrs: Attrs = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs)) {
    if (name === "on") {
      for (const [type, listener] of Object.entries(attrs.on!)) el.addEventListener(type, listener);
    } else if (value === true) {
      el.setAttribute(name, "");
    } else if (value !== false && value !== null && value !== undefined) {
      el.setAttribute(name, String(value));
    }
  }
  el.append(...children.filter((c): c is Node | string => c !== null));
  return el;
}

export function clear(el: Element): void {
  while (el.firstChild) el.removeChild(el.firstChild);
}

export function replace(el: Element, ...children: Child[]): void {
  clear(el);
  el.append(...children.filter((c): c is Node | string => c !== null));
}

/** A paragraph in place of a view that this input cannot fill. */
export function absent(text: string): HTMLElement {
  return h("p", { class: "absent" }, text);
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function button(label: string, onClick: () => void, attrs: Attrs = {}): HTMLButtonElement {
  return h("button", { type: "button", ...attrs, on: { click: onClick } }, label);
}

export interface Choice<T extends string> {
  value: T;
  label: string;
}

/** A row of exclusive buttons; works like radio buttons for keyboard and screen readers. */
export function choice<T extends string>(
  legend: string,
  options: Choice<T>[],
  current: T,
  onChange: (value: T) => void,
): HTMLElement {
  const name = `choice-${choiceCnt++}`;
  return h(
    "fieldset",
    { class: "choice" },
    h("legend", {}, legend),
    ...options.map((o) =>
      h(
        "label",
        {},
        h("input", {
          type: "radio",
          name,
          value: o.value,
          checked: o.value === current,
          on: { change: () => onChange(o.value) },
        }),
        h("span", {}, o.label),
      ),
    ),
  );
}

let choiceCnt = 0;

export function select<T extends string>(
  label: string,
  options: Choice<T>[],
  current: T,
  onChange: (value: T) => void,
): HTMLElement {
  const box = h(
    "select",
    { on: { change: () => onChange(box.value as T) } },
    ...options.map((o) => h("option", { value: o.value, selected: o.value === current }, o.label)),
  );
  return h("label", { class: "field" }, h("span", {}, label), box);
}

export function search(label: string, hint: string, onInput: (text: string) => void): HTMLElement {
  const box = h("input", {
    type: "search",
    placeholder: hint,
    autocomplete: "off",
    spellcheck: "false",
    on: { input: () => onInput(box.value) },
  });
  return h("label", { class: "field" }, h("span", {}, label), box);
}
