// Puts the page together.
import { followAddress } from "./address.ts";
import { setTheme } from "./draw/colors.ts";
import { absent, errorText, h, replace } from "./draw/dom.ts";
import { showFirst } from "./draw/size.ts";
import { PageData, failureOf } from "./model/data.ts";
import { firstLane } from "./model/first_lane.ts";
import type { PageMeta } from "./model/meta.ts";
import { Names } from "./model/names.ts";
import { preferences } from "./preferences.ts";
import { Lane, State } from "./state.ts";
import { Tabs, type View } from "./tabs.ts";
import { aboutView } from "./views/about.ts";
import { blocksView } from "./views/blocks.ts";
import { diffView } from "./views/diff.ts";
import { findingsView } from "./views/findings.ts";
import { flameView } from "./views/flame.ts";
import { ledgerView } from "./views/ledger.ts";
import { ranksView } from "./views/ranks.ts";
import { segmentsView } from "./views/segments.ts";
import { sitesView } from "./views/sites.ts";
import { timelineView } from "./views/timeline.ts";
import { failureView, headerView, oomView, tilesView, verdictView } from "./views/top.ts";
import { whatifView } from "./views/whatif.ts";

const always = (): boolean => true;

const VIEWS: View[] = [
  {
    id: "blocks",
    title: "Blocks",
    make: blocksView,
    isShown: (s) => s.lane.meta.blocks_total > 0,
    needs: ["blocks", "timeline"],
  },
  { id: "flame", title: "Flame graph", make: flameView, isShown: always, needs: ["blocks"] },
  { id: "sites", title: "Lines", make: sitesView, isShown: always, needs: ["blocks"] },
  {
    id: "segments",
    title: "Segments",
    make: segmentsView,
    isShown: always,
    needs: ["blocks", "segments"],
  },
  {
    id: "ledger",
    title: "Ledger",
    make: ledgerView,
    isShown: ({ lane }) => lane.meta.ledger !== null || lane.meta.counters.length > 0,
  },
  {
    id: "whatif",
    title: "What if",
    make: whatifView,
    isShown: ({ lane }) => lane.meta.whatif !== null,
  },
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

async function start(): Promise<void> {
  const app = document.getElementById("app")!;
  try {
    await show(app);
  } catch (error) {
    replace(
      app,
      h("main", {}, h("h1", {}, "This page cannot show its data"), absent(errorText(error))),
    );
    console.error(error);
  }
  document.documentElement.setAttribute("data-ready", "true");
}

async function show(app: HTMLElement): Promise<void> {
  setTheme(preferences().theme);
  const metaText = sectionText("meta") ?? "{}";
  const failure = failureOf(metaText);
  if (failure) {
    replace(app, ...failureView(failure));
    return;
  }
  const data = new PageData(metaText, sectionText);
  const names = await data.section("names");
  if (!names) throw new Error("the file holds no names: it was cut short");
  if (data.meta.lanes.length === 0) replace(app, emptyView(data.meta));
  else await showLanes(app, data, new Names(names));
}

function emptyView({ title, verdict_text, inputs }: PageMeta): HTMLElement {
  return h(
    "main",
    {},
    h("h1", {}, title),
    h("p", {}, verdict_text),
    absent("The input holds no event and no block of any device."),
    ...inputs.map((i) => h("p", { class: "sub" }, `${i.path}: ${i.notes.join(" ")}`)),
  );
}

/** Resolves when everything of the first screen is drawn. */
async function showLanes(app: HTMLElement, data: PageData, names: Names): Promise<void> {
  const opening = firstLane(data.meta);
  const state = new State(data, names, await Lane.load(data, opening, names));
  const tabs = new Tabs(state, VIEWS);
  const timeline = timelineView(state);
  const openView = async (id: string): Promise<void> => {
    if (id !== "timeline") await tabs.open(id);
    (id === "timeline" ? timeline : tabs.panelOf(id)).scrollIntoView({ block: "start" });
  };
  replace(
    app,
    headerView(state),
    h(
      "main",
      {},
      await verdictView(state),
      tilesView(state),
      timeline,
      findingsView(state, { openView }),
      oomView(state),
      tabs.root,
    ),
  );
  showFirst();
  const view = data.meta.mode === "diff" ? "diff" : tabs.firstFilled();
  await followAddress(state, tabs, { lane: opening, view });
}

void start();
