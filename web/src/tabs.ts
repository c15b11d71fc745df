// The views below the timeline, one tab each, as the ARIA practices describe tabs: arrows move
// between them. A panel is made when it is first shown, and again when another lane is chosen. A
// view that the lane cannot fill has no tab.
import { absent, errorText, h, replace } from "./draw/dom.ts";
import { showFirst } from "./draw/size.ts";
import type { State } from "./state.ts";

export interface View {
  id: string;
  title: string;
  make: (state: State) => Promise<HTMLElement[]>;
  isShown: (state: State) => boolean;
  /** what the input must hold (LaneMeta.absent), or there is no tab; "About the data" says why */
  needs?: string[];
}

interface Tab {
  view: View;
  button: HTMLElement;
  panel: HTMLElement;
  /** the lane that the panel shows, or is being made for */
  lane: number | null;
}

const STEPS: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 };

export class Tabs {
  readonly root: HTMLElement;
  private readonly state: State;
  private readonly tabs: Tab[];
  private current: Tab;

  constructor(state: State, views: View[]) {
    this.state = state;
    this.tabs = views.map((view) => this.makeTab(view));
    this.current = this.tabs[0]!;
    const list = h("div", { role: "tablist", "aria-label": "Views", class: "tabs" });
    list.append(...this.tabs.map((tab) => tab.button));
    this.root = h("div", { class: "views" }, list, ...this.tabs.map((tab) => tab.panel));
    state.on(["lane"], () => void this.show(this.current));
  }

  private isOffered(tab: Tab): boolean {
    const { absent } = this.state.lane.meta;
    return tab.view.isShown(this.state) && !tab.view.needs?.some((need) => need in absent);
  }

  private offered(): Tab[] {
    return this.tabs.filter((tab) => this.isOffered(tab));
  }

  private find(id: string): Tab | undefined {
    return this.tabs.find((tab) => tab.view.id === id);
  }

  /** The first view that this lane can fill. */
  firstFilled(): string {
    return this.offered()[0]!.view.id;
  }

  /** Resolves when the view is drawn; if there is no such view, the first one is shown. */
  open(id: string): Promise<void> {
    return this.show(this.find(id) ?? this.current);
  }

  panelOf(id: string): HTMLElement {
    return this.find(id)!.panel;
  }

  private makeTab(view: View): Tab {
    const button = h(
      "button",
      { type: "button", role: "tab", id: `tab-${view.id}`, "aria-controls": `panel-${view.id}` },
      view.title,
    );
    const panel = h("div", {
      role: "tabpanel",
      id: `panel-${view.id}`,
      "aria-labelledby": `tab-${view.id}`,
      class: "panel",
      tabindex: "-1",
      "data-title": view.title,
    });
    const tab: Tab = { view, button, panel, lane: null };
    button.addEventListener("click", () => void this.show(tab));
    button.addEventListener("keydown", (e) => this.moveFocus(e));
    return tab;
  }

  private moveFocus(e: KeyboardEvent): void {
    const step = STEPS[e.key];
    if (step === undefined) return;
    e.preventDefault();
    const tabs = this.offered();
    const at = tabs.indexOf(this.current) + step;
    const next = tabs[(at + tabs.length) % tabs.length]!;
    void this.show(next);
    next.button.focus();
  }

  private async show(wanted: Tab): Promise<void> {
    const shown = this.isOffered(wanted) ? wanted : this.offered()[0]!;
    this.current = shown;
    this.state.setView(shown.view.id);
    for (const tab of this.tabs) {
      tab.button.hidden = !this.isOffered(tab);
      tab.button.setAttribute("aria-selected", String(tab === shown));
      tab.button.tabIndex = tab === shown ? 0 : -1;
      tab.panel.hidden = tab !== shown;
    }
    this.state.wake();
    showFirst();
    if (shown.lane !== this.state.lane.index) await this.fill(shown);
  }

  private async fill(tab: Tab): Promise<void> {
    const { lane } = this.state;
    tab.lane = lane.index;
    const content = await this.content(tab.view);
    if (tab.lane !== lane.index) return; // another lane was chosen meanwhile
    replace(tab.panel, ...content);
    showFirst();
  }

  private async content(view: View): Promise<HTMLElement[]> {
    try {
      return await view.make(this.state);
    } catch (error) {
      console.error(error);
      return [absent(`This view could not be drawn: ${errorText(error)}`)];
    }
  }
}
