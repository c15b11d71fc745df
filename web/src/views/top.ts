// The answer before the question: verdict, findings, the run's identity.
import { chip } from "./timeline.ts";
import { theme } from "../draw/colors.ts";
import { button, h, select } from "../draw/dom.ts";
import { groupFindings, type FindingGroup } from "../model/findings.ts";
import * as fmt from "../model/format.ts";
import type { FailureMeta, FindingMeta, InputMeta, PageMeta } from "../model/meta.ts";
import { FINDING_TITLES } from "../schema.ts";
import type { State } from "../state.ts";

const TONES: Record<PageMeta["verdict"], string> = {
  oom: "critical", leak: "critical", fragmentation: "warning", spike: "warning", healthy: "good",
};

const VERDICT = new RegExp(`^(${["Healthy", "No history", ...Object.values(FINDING_TITLES)].join("|")}): (.*)$`, "s");

const INPUTS: Record<string, string> = {
  "slog": "a stormlog recording",
  "torch-snapshot": "a PyTorch memory snapshot",
  "telemetry": "telemetry records",
  "oom-bundle": "an out-of-memory bundle",
};

export function kindText(input: InputMeta): string {
  return INPUTS[input.kind] ?? input.kind;
}

export interface Navigation {
  openView: (id: string) => void;
}

export function headerView(state: State): HTMLElement {
  const { meta } = state.data;
  const identity = h("p", { class: "identity" });
  const identify = (): void => {
    const input = meta.inputs[state.lane.meta.input]!;
    identity.textContent = fmt.capital([kindText(input), input.identity].filter((t) => t).join(": "));
  };
  identify();
  state.on(["lane"], identify);
  const header = h("header", { class: "top" }, brandView(), h("h1", {}, meta.title), identity);
  if (meta.lanes.length < 2) return header;
  const field = select("Showing", meta.lanes.map((_, i) => ({ value: String(i), label: laneName(meta, i) })), String(state.lane.index),
    (v) => void state.setLane(Number(v)));
  // Findings and the heat map choose lanes too.
  state.on(["lane"], () => { field.querySelector("select")!.value = String(state.lane.index); });
  header.append(field);
  return header;
}

/** The page of an input that could not be read. */
export function failureView(meta: FailureMeta): HTMLElement[] {
  return [
    h("header", { class: "top" }, brandView(), h("h1", {}, meta.title)),
    h("main", {}, h("section", { class: "verdict critical", "aria-labelledby": "verdict-word" },
      h("h2", { id: "verdict-word" }, "No report"), h("p", {}, fmt.capital(meta.failure))),
    h("p", { class: "sub" }, `Nothing of the input is shown, because a part of it would look like the whole. Made by ${meta.generator}.`)),
  ];
}

function brandView(): HTMLElement {
  return h("div", { class: "brand" }, h("span", { class: "mark", "aria-hidden": "true" }), "stormlog");
}

export function laneName(meta: PageMeta, index: number): string {
  const lane = meta.lanes[index]!;
  const device = lane.device < 0 ? "host" : `device ${lane.device}`;
  return meta.inputs.length > 1 ? `${fmt.shortPath(meta.inputs[lane.input]!.path)}, ${device}` : device;
}

export function verdictView(state: State): HTMLElement {
  const { meta } = state.data;
  const { word, tone, text } = splitVerdict(meta);
  return h("section", { class: `verdict ${tone}`, "aria-labelledby": "verdict-word" },
    h("h2", { id: "verdict-word" }, word),
    h("p", {}, fmt.capital(text)));
}

/** The sentence begins with its own word, "Leak: ..."; that of an input without history is neither good nor bad. */
function splitVerdict(meta: PageMeta): { word: string; tone: string; text: string } {
  const word = FINDING_TITLES[meta.verdict] ?? "Healthy";
  const tone = TONES[meta.verdict];
  const parts = VERDICT.exec(meta.verdict_text);
  if (!parts) return { word, tone, text: meta.verdict_text };
  const isOwn = parts[1] === word;
  return { word: parts[1]!, tone: isOwn ? tone : "", text: parts[2]! };
}

export function findingsView(state: State, nav: Navigation): HTMLElement | null {
  const { meta } = state.data;
  if (meta.findings.length === 0) return null;
  const groups = groupFindings(meta.findings);
  const cards = h("div", { class: "cards" });
  const more = h("div", { class: "buttons" });
  const show = (cnt: number): void => {
    cards.append(...groups.slice(cards.childElementCount, cnt).map((g) => card(state, g, nav)));
    const left = groups.length - cards.childElementCount;
    more.replaceChildren(...(left > 0 ? [button(`Show ${fmt.plural(left, "more card")}`, () => show(groups.length))] : []));
  };
  show(CARDS_SHOWN);
  const together = groups.length < meta.findings.length ? `; those that say the same of several ranks stand together` : "";
  return h("section", { class: "findings", "aria-labelledby": "findings-title" },
    h("h2", { id: "findings-title" }, meta.findings.length === 1 ? "One finding" : `${fmt.count(meta.findings.length)} findings${together}`),
    cards, more);
}

const CARDS_SHOWN = 12;
const OTHERS_SHOWN = 50;

/** Where else the same was found. */
function others(state: State, group: FindingGroup, nav: Navigation): HTMLElement | null {
  if (group.others.length === 0) return null;
  const { meta } = state.data;
  const list = group.others.slice().sort((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0));
  const left = list.length - OTHERS_SHOWN;
  return h("details", {}, h("summary", {}, `The same on ${fmt.plural(list.length, "other rank")}`),
    h("ul", {}, ...list.slice(0, OTHERS_SHOWN).map((f) => h("li", {},
      button(laneName(meta, f.lane!), () => void goTo(state, f, nav, "timeline"), { class: "link" }), `: ${f.title}`)),
      left > 0 ? h("li", {}, `and ${fmt.count(left)} more`) : null));
}

function figures(f: FindingMeta): HTMLElement[] {
  const rows: [string, string, number | null][] = [];
  if (f.bytes !== null) rows.push(["Amount", fmt.bytes(f.bytes), f.bytes]);
  if (f.blocks !== null) rows.push(["Blocks", fmt.count(f.blocks), f.blocks]);
  if (f.bytes_per_step !== null) rows.push(["Per step", fmt.delta(f.bytes_per_step), f.bytes_per_step]);
  if (f.bytes_per_second !== null) rows.push(["Per second", fmt.delta(f.bytes_per_second), f.bytes_per_second]);
  if (f.growth_share !== null) rows.push(["Of all growth", fmt.percent(f.growth_share), f.growth_share]);
  if (f.r_squared !== null) rows.push(["Fit (R²)", f.r_squared.toFixed(3), f.r_squared]);
  rows.push(["Confidence", fmt.percent(f.confidence), f.confidence]);
  return rows.map(([name, text, value]) => h("div", {}, h("dt", {}, name), h("dd", { "data-value": value }, text)));
}

function card(state: State, group: FindingGroup, nav: Navigation): HTMLElement {
  const f = group.lead;
  const place = f.site === null ? null : state.names.frame(f.site);
  const words = place ? (place.file === "" ? place.function : `${place.file}${place.line > 0 ? `:${place.line}` : ""}`) : null;
  return h("article", { class: `card ${f.severity}`, "data-kind": f.kind, "data-count": 1 + group.others.length },
    h("p", { class: "kind" }, [FINDING_TITLES[f.kind] ?? f.kind, f.subkind].filter((t) => t).join(": "), h("span", { class: "severity" }, f.severity)),
    h("h3", {}, fmt.capital(f.title)),
    f.lane !== null && state.data.meta.lanes.length > 1 ? h("p", { class: "sub" }, laneName(state.data.meta, f.lane)) : null,
    words ? h("p", { class: "place" }, h("code", {}, words), place && place.file !== "" && place.function ? ` in ${place.function}` : null) : null,
    h("dl", { class: "figures" }, ...figures(f)),
    f.explanation ? h("p", {}, f.explanation) : null,
    f.advice ? h("p", { class: "advice" }, h("strong", {}, "What to do: "), f.advice) : null,
    evidence(f),
    others(state, group, nav),
    h("div", { class: "buttons" },
      button("Show when", () => void goTo(state, f, nav, "timeline")),
      f.site === null ? null : button("Show its blocks", () => void goTo(state, f, nav, "blocks")),
      f.site === null ? null : button("Show its line", () => void goTo(state, f, nav, "sites"))));
}

function evidence(f: FindingMeta): HTMLElement | null {
  if (f.evidence.length === 0) return null;
  const value = (n: number | null, unit: string): string =>
    n === null ? "not known" : unit === "bytes" ? fmt.bytes(n) : `${Number(n.toPrecision(4))}${unit === "1" ? "" : ` ${unit}`}`;
  return h("details", {}, h("summary", {}, "Evidence"),
    h("ul", {}, ...f.evidence.map((e) => h("li", {}, `${e.name}: ${value(e.value, e.unit)}`,
      e.relation ? ` (needs ${e.relation} ${value(e.threshold, e.unit)})` : null))));
}

async function goTo(state: State, f: FindingMeta, nav: Navigation, view: string): Promise<void> {
  if (f.lane !== null) await state.setLane(f.lane);
  const axis = state.lane.axis("time");
  if (f.last_time_us > f.first_time_us) {
    const from = axis.eventAtTime(f.first_time_us);
    const to = axis.eventAtTime(f.last_time_us);
    state.setRange(from, to);
    state.setInstant(to);
  }
  const frame = f.site === null ? null : state.names.frame(f.site);
  if (frame && view !== "timeline") state.setHighlight(frame.file === "" ? frame.function : `${fmt.baseName(frame.file)}:${frame.line}`);
  nav.openView(view);
}

export function tilesView(state: State): HTMLElement {
  const list = h("dl", { class: "tiles" });
  const fill = (): void => list.replaceChildren(...tiles(state));
  fill();
  state.on(["lane"], fill);
  return h("section", { "aria-label": "Key figures" }, list);
}

function tiles(state: State): HTMLElement[] {
  const m = state.lane.meta;
  const seconds = m.last_us - m.first_us;
  const tile = (id: string, name: string, text: string, exact: number | null, note: string): HTMLElement =>
    h("div", { class: "tile" }, h("dt", {}, name),
      h("dd", { id: `tile-${id}`, "data-value": exact, title: exact !== null && note.endsWith("bytes") ? fmt.exactBytes(exact) : null }, text),
      h("dd", { class: "note" }, note));
  const out = [
    tile("peak", "Peak", fmt.bytes(m.peak_bytes), m.peak_bytes,
      m.peak_bytes === null ? "there is no history" : m.events === 0 ? "live, requested bytes" : m.peak_event < 0 ? "live before the first event" : state.lane.hasTime ? `after ${fmt.duration(m.peak_time_us)}` : `at event ${fmt.count(m.peak_event)}`),
    tile("live", "Live at the end", fmt.bytes(m.live_bytes), m.live_bytes, m.live_rounded_bytes === null ? "as the last sample says" : `${fmt.bytes(m.live_rounded_bytes)} in the allocator's blocks`),
    tile("reserved", "Reserved", fmt.bytes(m.reserved_bytes), m.reserved_bytes,
      m.peak_reserved_bytes === null ? "the input does not say" : `at most ${fmt.bytes(m.peak_reserved_bytes)}`),
    tile("base", m.is_sampled ? "First sample" : "Before the trace", fmt.bytes(m.base_bytes), m.base_bytes, "already live when it began"),
    m.is_sampled ? tile("events", "Samples", fmt.count(m.events), m.events, "between two of them nothing is known")
      : tile("events", "Events", fmt.count(m.events), m.events, `${fmt.plural(m.allocs, "allocation")}, ${fmt.plural(m.frees, "free")}`),
  ];
  if (state.lane.hasTime && m.events > 0)
    out.push(tile("time", "Time", fmt.duration(seconds), seconds,
      m.steps === null ? "no steps seen" : `${fmt.count(m.steps)} steps${m.steps_marked ? "" : ", inferred"}`));
  return out;
}

export function oomView(state: State): HTMLElement | null {
  const oom = state.data.meta.oom;
  if (!oom) return null;
  const row = (name: string, value: number | null): HTMLElement =>
    h("div", {}, h("dt", {}, name), h("dd", { "data-value": value }, fmt.bytes(value)));
  const site = oom.site === null ? null : state.names.frame(oom.site);
  return h("section", { class: "panel", "aria-labelledby": "oom-title", id: "oom" },
    h("h2", { id: "oom-title" }, chip(theme().bad), "The request that failed"),
    h("p", {}, site && site.file !== "" ? h("code", {}, `${site.file}:${site.line}`) : null, ` Cause: ${oom.cause.replace("-", " ")}.`,
      oom.count > 1 ? ` The last of ${fmt.count(oom.count)} failures.` : null),
    h("dl", { class: "figures" }, row("Asked for", oom.requested_bytes), row("Allocated then", oom.allocated_bytes),
      row("Reserved then", oom.reserved_bytes), row("Free on the device", oom.device_free_bytes), row("Limit", oom.limit_bytes)));
}
