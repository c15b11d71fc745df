// The top of the page: the run's identity, the verdict, its key figures, the request that failed.
import { setTheme, theme, type ThemeChoice } from "../draw/colors.ts";
import { button, h, select, type Choice } from "../draw/dom.ts";
import { chip, figure, figures } from "../draw/parts.ts";
import { placeLink } from "../draw/place.ts";
import { diffLead } from "../model/diff.ts";
import { findingToFix, groupFindings, leadFinding, type FindingGroup } from "../model/findings.ts";
import * as fmt from "../model/format.ts";
import { laneName } from "../model/lane_name.ts";
import type { FailureMeta, FindingMeta, InputMeta, LaneMeta, PageMeta } from "../model/meta.ts";
import { prefer, preferences } from "../preferences.ts";
import { FINDING_TITLES } from "../schema.ts";
import type { Lane, State } from "../state.ts";
import { compare, diffLanes, leadSentence, type Comparison } from "./diff.ts";
import { helpButton } from "./help.ts";

const TONES: Record<PageMeta["verdict"], string> = {
  oom: "critical",
  leak: "critical",
  fragmentation: "warning",
  spike: "warning",
  healthy: "good",
};

const INPUTS: Record<string, string> = {
  slog: "a stormlog recording",
  "torch-snapshot": "a PyTorch memory snapshot",
  telemetry: "telemetry records",
  "oom-bundle": "an out-of-memory bundle",
};

export function kindText(input: InputMeta): string {
  return INPUTS[input.kind] ?? input.kind;
}

export function headerView(state: State): HTMLElement {
  const { meta } = state.data;
  const identity = h("p", { class: "identity" });
  const identify = (): void => {
    const input = meta.inputs[state.lane.meta.input]!;
    identity.textContent = fmt.capital(`${kindText(input)}: ${input.identity ?? input.path}`);
    identity.title = input.path;
  };
  identify();
  state.on(["lane"], identify);
  return h(
    "header",
    { class: "top" },
    brandView(),
    h("h1", { title: meta.title }, meta.title),
    meta.lanes.length > 1 ? laneField(state) : null,
    themeField(),
    helpButton(),
    identity,
  );
}

const THEMES: Choice<ThemeChoice>[] = [
  { value: "system", label: "as the system" },
  { value: "light", label: "light" },
  { value: "dark", label: "dark" },
];

function themeField(): HTMLElement {
  return select("Theme", THEMES, preferences().theme, (theme) => {
    prefer({ theme });
    setTheme(theme);
  });
}

function laneField(state: State): HTMLElement {
  const { meta } = state.data;
  const lanes = meta.lanes.map((_, i) => ({ value: String(i), label: laneName(meta, i) }));
  const current = String(state.lane.index);
  const field = select("Showing", lanes, current, (v) => void state.setLane(Number(v)));
  // Findings and the heat map choose lanes too.
  state.on(["lane"], () => {
    field.querySelector("select")!.value = String(state.lane.index);
  });
  return field;
}

/** The page of an input that could not be read. */
export function failureView(meta: FailureMeta): HTMLElement[] {
  const said =
    "Nothing of the input is shown, because a part of it would look like the whole. " +
    `Made by ${meta.generator}.`;
  return [
    h("header", { class: "top" }, brandView(), h("h1", {}, meta.title)),
    h(
      "main",
      {},
      verdictBox("critical", "No report", fmt.capital(meta.failure)),
      h("p", { class: "sub" }, said),
    ),
  ];
}

function brandView(): HTMLElement {
  const mark = h("span", { class: "mark", "aria-hidden": "true" });
  return h("div", { class: "brand" }, mark, "stormlog");
}

/** The answer and what to do about it; a comparison begins with what changed. */
export async function verdictView(state: State): Promise<HTMLElement> {
  const { meta } = state.data;
  const verdict = splitVerdict(meta);
  const both = meta.mode === "diff" ? await compare(state) : null;
  const box = both
    ? changeBox(state, both, verdict)
    : verdictBox(verdict.tone, verdict.word, fmt.capital(verdict.text));
  const lead = leadFinding(meta);
  // Of several inputs the verdict only says how many there are of each.
  if (lead && meta.mode !== "one") box.append(h("p", { class: "sub" }, fmt.capital(lead.title)));
  const advice = findingToFix(meta)?.advice;
  if (advice) box.append(h("p", { class: "fix" }, h("strong", {}, "Fix: "), advice));
  const also = groupFindings(meta.findings).filter((g) => !isAbout(g, lead));
  if (also.length > 0) box.append(alsoList(meta, also));
  return box;
}

function verdictBox(tone: string, word: string, text: string): HTMLElement {
  return h(
    "section",
    { class: `verdict ${tone}`, "aria-labelledby": "verdict-word" },
    h("h2", { id: "verdict-word" }, word),
    h("p", { class: "lead" }, text),
  );
}

interface Verdict {
  word: string;
  tone: string;
  text: string;
}

function changeBox({ names }: State, both: Comparison, verdict: Verdict): HTMLElement {
  const [a, b] = [both.before.meta, both.after.meta];
  const lead = diffLead(both.rows, a.peak_bytes, b.peak_bytes);
  const grown = verdict.tone === "good" ? "warning" : verdict.tone;
  const tone = (lead.peak ?? 0) > 0 ? grown : "good";
  const box = verdictBox(tone, "What changed", leadSentence(names, lead));
  const live = b.live_bytes - a.live_bytes;
  const totals = [
    `Peak ${fmt.bytes(a.peak_bytes)} before, ${fmt.bytes(b.peak_bytes)} after.`,
    `Live at the end ${live === 0 ? "the same" : fmt.delta(live)}.`,
    `${fmt.capital(verdict.text)}.`,
  ];
  box.append(h("p", { class: "sub" }, totals.join(" ")));
  return box;
}

function isAbout(group: FindingGroup, finding: FindingMeta | null): boolean {
  return finding !== null && [group.lead, ...group.others].includes(finding);
}

const ALSO_SHOWN = 3;

/** The other findings, one line each: their cards are further down. */
function alsoList(meta: PageMeta, groups: FindingGroup[]): HTMLElement {
  const item = ({ lead: f }: FindingGroup): HTMLElement =>
    h(
      "li",
      { class: f.severity },
      button(fmt.capital(f.title), () => showCard(meta.findings.indexOf(f)), { class: "link" }),
    );
  const left = groups.length - ALSO_SHOWN;
  return h(
    "div",
    { class: "also" },
    h("span", { class: "sub" }, "Also found"),
    h(
      "ul",
      {},
      ...groups.slice(0, ALSO_SHOWN).map(item),
      left > 0 ? h("li", { class: "sub" }, `and ${fmt.count(left)} more, below`) : null,
    ),
  );
}

function showCard(finding: number): void {
  const card = document.querySelector<HTMLElement>(`[data-finding="${finding}"]`);
  card?.scrollIntoView({ block: "center" });
  card?.focus({ preventScroll: true });
}

const VERDICT_WORDS = [
  "Healthy",
  "No history",
  "No leak verdict",
  ...Object.values(FINDING_TITLES),
].join("|");
const VERDICT_PARTS = new RegExp(`^(${VERDICT_WORDS}): (.*)$`, "s");

/**
 * The sentence begins with its own word, "Leak: ..."; that of an input without history or
 * steps is neither good nor bad.
 */
function splitVerdict(meta: PageMeta): Verdict {
  const word = FINDING_TITLES[meta.verdict] ?? "Healthy";
  const tone = TONES[meta.verdict];
  const parts = VERDICT_PARTS.exec(meta.verdict_text);
  if (!parts) return { word, tone, text: meta.verdict_text };
  return { word: parts[1]!, tone: parts[1] === word ? tone : "", text: parts[2]! };
}

export function tilesView(state: State): HTMLElement {
  const list = h("dl", { class: "tiles" });
  const fill = (): void => {
    const pair = state.data.meta.mode === "diff" ? diffLanes(state) : null;
    const before = pair?.[1] === state.lane.index ? state.data.meta.lanes[pair[0]]! : null;
    const all = tiles(state.lane);
    const shown = before ? all.map((tile) => comparedTile(tile, before)) : all;
    list.replaceChildren(...shown.map(tileElement));
  };
  fill();
  state.on(["lane"], fill);
  return h("section", { "aria-label": "Key figures" }, list);
}

interface Tile {
  id: string;
  name: string;
  value: number | null;
  text: string;
  note: string;
}

function tileElement({ id, name, value, text, note }: Tile): HTMLElement {
  const exact = value !== null && note.endsWith("bytes") ? fmt.exactBytes(value) : null;
  return h(
    "div",
    { class: "tile" },
    h("dt", {}, name),
    h("dd", { id: `tile-${id}`, "data-value": value, title: exact }, text),
    h("dd", { class: "note" }, note),
  );
}

function tiles(lane: Lane): Tile[] {
  const m = lane.meta;
  const bytes = (id: string, name: string, value: number | null, note: string): Tile => ({
    id,
    name,
    value,
    text: fmt.bytes(value),
    note,
  });
  const rounded = m.live_rounded_bytes;
  const inBlocks = rounded === null ? "by the last sample" : `${fmt.bytes(rounded)} as rounded up`;
  const most = m.peak_reserved_bytes;
  const atMost = most === null ? "the input does not say" : `at most ${fmt.bytes(most)}`;
  const first = m.is_sampled ? "First sample" : "Before the trace";
  return [
    bytes("peak", "Peak", m.peak_bytes, peakNote(lane)),
    bytes("live", "Live at the end", m.live_bytes, inBlocks),
    bytes("reserved", "Reserved", m.reserved_bytes, atMost),
    bytes("base", first, m.base_bytes, "live when it began"),
    eventsTile(m),
    ...(lane.hasTime && m.events > 0 ? [timeTile(m)] : []),
  ];
}

const COMPARED: Record<string, (lane: LaneMeta) => number | null> = {
  peak: (lane) => lane.peak_bytes,
  live: (lane) => lane.live_bytes,
  reserved: (lane) => lane.reserved_bytes,
};

/** The same tile with what it was before. */
function comparedTile(tile: Tile, before: LaneMeta): Tile {
  const was = COMPARED[tile.id]?.(before) ?? null;
  if (was === null || tile.value === null) return tile;
  return { ...tile, note: `${fmt.delta(tile.value - was)}, was ${fmt.bytes(was)}` };
}

function peakNote({ hasTime, meta }: Lane): string {
  if (meta.peak_bytes === null) return "there is no history";
  if (meta.events === 0) return "live, requested bytes";
  if (meta.peak_event < 0) return "live before the first event";
  return hasTime
    ? `after ${fmt.duration(meta.peak_time_us)}${meta.start_us > 0 ? " of the run" : ""}`
    : `at event ${fmt.count(meta.peak_event)}`;
}

function eventsTile(m: LaneMeta): Tile {
  const note = m.is_sampled
    ? "nothing known between"
    : `${fmt.plural(m.allocs, "alloc")}, ${fmt.plural(m.frees, "free")}`;
  const name = m.is_sampled ? "Samples" : "Events";
  return { id: "events", name, value: m.events, text: fmt.count(m.events), note };
}

function timeTile(m: LaneMeta): Tile {
  const us = m.last_us - m.first_us - m.start_us;
  const inferred = m.steps_marked ? "" : ", inferred";
  const steps = m.steps === null ? "no steps seen" : `${fmt.plural(m.steps, "step")}${inferred}`;
  const begins = `begins after ${fmt.duration(m.start_us)} of the run`;
  const note = m.start_us > 0 ? `${begins}, ${steps}` : steps;
  return { id: "time", name: "Time", value: us, text: fmt.duration(us), note };
}

export function oomView(state: State): HTMLElement | null {
  const { oom } = state.data.meta;
  if (!oom) return null;
  const site = oom.site === null ? null : state.names.frame(oom.site);
  const rows: [string, number | null][] = [
    ["Asked for", oom.requested_bytes],
    ["Allocated then", oom.allocated_bytes],
    ["Reserved then", oom.reserved_bytes],
    ["Free on the device", oom.device_free_bytes],
    ["Limit", oom.limit_bytes],
  ];
  const last = oom.count > 1 ? ` The last of ${fmt.count(oom.count)} failures.` : "";
  return h(
    "section",
    { class: "panel", "aria-labelledby": "oom-title", id: "oom" },
    h("h2", { id: "oom-title" }, chip(theme().bad), "The request that failed"),
    h(
      "p",
      {},
      site && site.file !== ""
        ? placeLink(site.file, site.line, h("code", {}, `${site.file}:${site.line}`))
        : null,
      ` Cause: ${oom.cause.replace("-", " ")}.${last}`,
    ),
    figures(...rows.map(([name, value]) => figure(name, fmt.bytes(value), value))),
  );
}
