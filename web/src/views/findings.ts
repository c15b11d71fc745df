// The findings, one card each; the same finding on several ranks shares one.
import { button, h, type Child } from "../draw/dom.ts";
import { figure, figures } from "../draw/parts.ts";
import { placeLink } from "../draw/place.ts";
import { groupFindings, type FindingGroup } from "../model/findings.ts";
import * as fmt from "../model/format.ts";
import { laneName } from "../model/lane_name.ts";
import type { FindingMeta } from "../model/meta.ts";
import { FINDING_TITLES } from "../schema.ts";
import type { State } from "../state.ts";

const CARDS_SHOWN = 12;
const OTHERS_SHOWN = 50;

export interface Navigation {
  openView: (id: string) => Promise<void>;
}

export function findingsView(state: State, nav: Navigation): HTMLElement | null {
  const { findings } = state.data.meta;
  if (findings.length === 0) return null;
  const groups = groupFindings(findings);
  const cards = h("div", { class: "cards" });
  const more = h("div", { class: "buttons" });
  const show = (cnt: number): void => {
    const next = groups.slice(cards.childElementCount, cnt);
    cards.append(...next.map((g) => card(state, g, nav)));
    const left = groups.length - cards.childElementCount;
    const label = `Show ${fmt.plural(left, "more card")}`;
    more.replaceChildren(...(left > 0 ? [button(label, () => show(groups.length))] : []));
  };
  show(CARDS_SHOWN);
  const together =
    groups.length < findings.length
      ? "; those that say the same of several ranks share a card"
      : "";
  const title =
    findings.length === 1 ? "One finding" : `${fmt.count(findings.length)} findings${together}`;
  return h(
    "section",
    { class: "findings", "aria-labelledby": "findings-title" },
    h("h2", { id: "findings-title" }, title),
    cards,
    more,
  );
}

function card(state: State, group: FindingGroup, nav: Navigation): HTMLElement {
  const f = group.lead;
  const { meta } = state.data;
  const kind = [FINDING_TITLES[f.kind] ?? f.kind, f.subkind].filter((t) => t).join(": ");
  const isOneOfMany = f.lane !== null && meta.lanes.length > 1;
  return h(
    "article",
    {
      class: `card ${f.severity}`,
      "data-kind": f.kind,
      "data-count": 1 + group.others.length,
      "data-finding": meta.findings.indexOf(f),
      tabindex: "-1",
    },
    h("p", { class: "kind" }, kind, h("span", { class: "severity" }, f.severity)),
    h("h3", {}, fmt.capital(f.title)),
    isOneOfMany ? h("p", { class: "sub" }, laneName(meta, f.lane!)) : null,
    place(state, f),
    figures(...numbers(f)),
    f.explanation ? h("p", {}, f.explanation) : null,
    f.advice ? h("p", { class: "advice" }, h("strong", {}, "Fix: "), f.advice) : null,
    evidence(f),
    others(state, group, nav),
    links(state, f, nav),
  );
}

function place(state: State, f: FindingMeta): HTMLElement | null {
  const frame = f.site === null ? null : state.names.frame(f.site);
  if (!frame) return null;
  if (frame.file === "") return h("p", { class: "sub" }, frame.function);
  const line = frame.line > 0 ? `:${frame.line}` : "";
  const inside = frame.function === "" ? null : ` in ${frame.function}`;
  const text = h("code", {}, `${frame.file}${line}`);
  return h("p", {}, placeLink(frame.file, frame.line, text), inside);
}

function numbers(f: FindingMeta): HTMLElement[] {
  const rows: [string, number | null, (n: number) => string][] = [
    ["Amount", f.bytes, fmt.bytes],
    ["Blocks", f.blocks, fmt.count],
    ["Per step", f.bytes_per_step, fmt.delta],
    ["Per second", f.bytes_per_second, fmt.delta],
    ["Of all growth", f.growth_share, fmt.percent],
    ["Fit (R²)", f.r_squared, (n) => n.toFixed(3)],
    ["Confidence", f.confidence, fmt.percent],
  ];
  return rows.flatMap(([name, n, text]) => (n === null ? [] : [figure(name, text(n), n)]));
}

function evidence(f: FindingMeta): HTMLElement | null {
  if (f.evidence.length === 0) return null;
  const value = (n: number | null, unit: string): string => {
    if (n === null) return "not known";
    if (unit === "bytes") return fmt.bytes(n);
    return `${Number(n.toPrecision(4))}${unit === "1" ? "" : ` ${unit}`}`;
  };
  const items = f.evidence.map((e) => {
    const needs = e.relation ? ` (needs ${e.relation} ${value(e.threshold, e.unit)})` : "";
    return h("li", {}, `${e.name}: ${value(e.value, e.unit)}${needs}`);
  });
  return h("details", {}, h("summary", {}, "Evidence"), h("ul", {}, ...items));
}

/** Where else the same was found. */
function others(state: State, group: FindingGroup, nav: Navigation): HTMLElement | null {
  if (group.others.length === 0) return null;
  const { meta } = state.data;
  const list = group.others.slice().sort((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0));
  const items = list.slice(0, OTHERS_SHOWN).map((f) => {
    const go = (): void => void goTo(state, f, nav, "timeline");
    return h("li", {}, button(laneName(meta, f.lane!), go, { class: "link" }), `: ${f.title}`);
  });
  const left = list.length - items.length;
  if (left > 0) items.push(h("li", {}, `and ${fmt.count(left)} more`));
  const summary = `The same on ${fmt.plural(list.length, "other rank")}`;
  return h("details", {}, h("summary", {}, summary), h("ul", {}, ...items));
}

function links(state: State, f: FindingMeta, nav: Navigation): HTMLElement {
  const link = (label: string, view: string): Child =>
    button(label, () => void goTo(state, f, nav, view));
  const { absent } = state.data.meta.lanes[f.lane ?? state.lane.index]!;
  const hasBlocks = f.site !== null && absent["blocks"] === undefined;
  return h(
    "div",
    { class: "buttons" },
    link("Show when", "timeline"),
    hasBlocks ? link("Show its blocks", "blocks") : null,
    hasBlocks ? link("Show its line", "sites") : null,
  );
}

async function goTo(state: State, f: FindingMeta, nav: Navigation, view: string): Promise<void> {
  if (f.lane !== null) await state.setLane(f.lane);
  const axis = state.lane.axis("time");
  if (f.last_time_us > f.first_time_us) {
    const to = axis.eventAtTime(f.last_time_us);
    state.setRange(axis.eventAtTime(f.first_time_us), to);
    state.setInstant(to);
  }
  const frame = f.site === null ? null : state.names.frame(f.site);
  if (frame && view !== "timeline")
    state.setHighlight(
      frame.file === "" ? frame.function : `${fmt.baseName(frame.file)}:${frame.line}`,
    );
  await nav.openView(view);
}
