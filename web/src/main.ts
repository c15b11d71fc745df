// Puts the page together.
import { absent, h, replace } from "./draw/dom.ts";
import { PageData, failureOf } from "./model/data.ts";
import type { PageMeta } from "./model/meta.ts";
import { Names } from "./model/names.ts";
import { Lane, State } from "./state.ts";
import { aboutView } from "./views/about.ts";
import { blocksView } from "./views/blocks.ts";
import { diffView } from "./views/diff.ts";
import { flameView } from "./views/flame.ts";
import { ledgerView } from "./views/ledger.ts";
import { ranksView } from "./views/ranks.ts";
import { segmentsView } from "./views/segments.ts";
import { sitesView } from "./views/sites.ts";
import { timelineView } from "./views/timeline.ts";
import {
  failureView,
  findingsView,
  headerView,
  oomView,
  tilesView,
  verdictView,
} from "./views/top.ts";

interface View {
  id: string;
  title: string;
  make: (state: State) => Promise<HTMLElement[]>;
  isShown: (state: State) => boolean;
  /** what the input must hold; else the page says why it is absent */
  needs?: string;
}

const always = (): boolean => true;

const VIEWS: View[] = [
  { id: "blocks", title: "Blocks", make: blocksView, isShown: always, needs: "blocks" },
  { id: "flame", title: "Flame graph", make: flameView, isShown: always, needs: "blocks" },
  { id: "sites", title: "Lines", make: sitesView, isShown: always, needs: "blocks" },
  { id: "segments", title: "Segments", make: segmentsView, isShown: always, needs: "blocks" },
  { id: "ledger", title: "Ledger", make: ledgerView, isShown: always },
  { id: "ranks", title: "Ranks", make: ranksView, isShown: (s) => s.data.meta.lanes.length > 1 },
  {
    id: "diff",
    title: "Difference",
    make: diffView,
    isShown: (s) => s.data.meta.inputs.length === 2,
  },
  { id: "about", title: "About the data", make: aboutView, isShown: always },
];

function sectionText(id: string): string | null {
  return document.getElementById(id)?.textContent ?? null;
}

/** Tabs as the ARIA practices describe them: arrows move, the panel is made when first shown. */
function tabs(state: State): { root: HTMLElement; open: (id: string) => void } {
  const views = VIEWS.filter((v) => v.isShown(state));
  const made = new Set<string>();
  const list = h("div", { role: "tablist", "aria-label": "Views", class: "tabs" });
  const panels = h("div", {});
  const panelOf = (id: string): HTMLElement => panels.querySelector(`#panel-${id}`)!;
  const make = async (view: View): Promise<void> => {
    made.add(view.id);
    try {
      const why = view.needs === undefined ? undefined : state.lane.meta.absent[view.needs];
      replace(panelOf(view.id), ...(why === undefined ? await view.make(state) : [absent(why)]));
    } catch (error) {
      replace(
        panelOf(view.id),
        absent(
          `This view could not be drawn: ${error instanceof Error ? error.message : String(error)}`,
        ),
      );
      console.error(error);
    }
  };
  const open = (id: string, focus = false): void => {
    for (const view of views) {
      const isOpen = view.id === id;
      const tab = list.querySelector<HTMLElement>(`#tab-${view.id}`)!;
      tab.setAttribute("aria-selected", String(isOpen));
      tab.tabIndex = isOpen ? 0 : -1;
      panelOf(view.id).hidden = !isOpen;
      if (isOpen && focus) tab.focus();
      if (isOpen && !made.has(id)) void make(view);
    }
    state.wake();
  };
  views.forEach((view, i) => {
    list.append(
      h(
        "button",
        {
          type: "button",
          role: "tab",
          id: `tab-${view.id}`,
          "aria-controls": `panel-${view.id}`,
          on: {
            click: () => open(view.id),
            keydown: (e) => {
              const step = { ArrowRight: 1, ArrowLeft: -1 }[(e as KeyboardEvent).key];
              if (step === undefined) return;
              e.preventDefault();
              open(views[(i + step + views.length) % views.length]!.id, true);
            },
          },
        },
        view.title,
      ),
    );
    panels.append(
      h("div", {
        role: "tabpanel",
        id: `panel-${view.id}`,
        "aria-labelledby": `tab-${view.id}`,
        class: "panel",
        tabindex: "-1",
        "data-title": view.title,
      }),
    );
  });
  state.on(["lane"], () => {
    made.clear();
    const current = list.querySelector('[aria-selected="true"]')!.id.slice(4);
    open(current);
  });
  open(state.data.meta.mode === "diff" ? "diff" : "blocks");
  return {
    root: h("div", { class: "views" }, list, panels),
    open: (id) => {
      if (id !== "timeline") open(id);
      const target = id === "timeline" ? document.getElementById("timeline-title") : panelOf(id);
      target?.scrollIntoView({ block: "start" });
    },
  };
}

async function start(): Promise<void> {
  const app = document.getElementById("app")!;
  try {
    await show(app);
  } catch (error) {
    replace(
      app,
      h(
        "main",
        {},
        h("h1", {}, "This page cannot show its data"),
        absent(error instanceof Error ? error.message : String(error)),
      ),
    );
    console.error(error);
  }
  document.documentElement.setAttribute("data-ready", "true");
}

async function show(app: HTMLElement): Promise<void> {
  const metaText = sectionText("meta") ?? "{}";
  const failure = failureOf(metaText);
  if (failure) {
    replace(app, ...failureView(failure));
    return;
  }
  const data = new PageData(metaText, sectionText);
  const names = await data.section("names");
  if (!names) throw new Error("the file holds no names: it was cut short");
  const { meta } = data;
  if (meta.lanes.length === 0) {
    replace(
      app,
      h(
        "main",
        {},
        h("h1", {}, meta.title),
        h("p", {}, meta.verdict_text),
        absent("The input holds no event and no block of any device."),
        ...meta.inputs.map((i) => h("p", { class: "sub" }, `${i.path}: ${i.notes.join(" ")}`)),
      ),
    );
    return;
  }
  const all = new Names(names);
  const state = new State(data, all, await Lane.load(data, firstLane(meta), all));
  const view = tabs(state);
  replace(
    app,
    headerView(state),
    h(
      "main",
      {},
      verdictView(state),
      tilesView(state),
      findingsView(state, { openView: view.open }),
      oomView(state),
      timelineView(state),
      view.root,
    ),
  );
}

/** Of a comparison the later input; else what the first finding speaks of, or where most happened. */
function firstLane(meta: PageMeta): number {
  const after = meta.lanes.findIndex((l) => l.input === 1);
  if (meta.mode === "diff" && after >= 0) return after;
  return meta.findings.find((f) => f.lane !== null)?.lane ?? busiest(meta.lanes);
}

function busiest(lanes: { events: number; live_bytes: number }[]): number {
  let best = 0;
  lanes.forEach((l, i) => {
    if (
      l.events > lanes[best]!.events ||
      (l.events === lanes[best]!.events && l.live_bytes > lanes[best]!.live_bytes)
    )
      best = i;
  });
  return best;
}

void start();
