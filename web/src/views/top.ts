// The answer before the question: the run's identity, the verdict, its key figures, the request
// that failed.
import { theme } from "../draw/colors.ts";
import { h, select } from "../draw/dom.ts";
import { chip, figure, figures } from "../draw/parts.ts";
import * as fmt from "../model/format.ts";
import { laneName } from "../model/lane_name.ts";
import type { FailureMeta, InputMeta, LaneMeta, PageMeta } from "../model/meta.ts";
import { FINDING_TITLES } from "../schema.ts";
import type { Lane, State } from "../state.ts";

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
    const parts = [kindText(input), input.identity].filter((t) => t);
    identity.textContent = fmt.capital(parts.join(": "));
  };
  identify();
  state.on(["lane"], identify);
  const header = h("header", { class: "top" }, brandView(), h("h1", {}, meta.title), identity);
  if (meta.lanes.length > 1) header.append(laneField(state));
  return header;
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

export function verdictView(state: State): HTMLElement {
  const { word, tone, text } = splitVerdict(state.data.meta);
  return verdictBox(tone, word, fmt.capital(text));
}

function verdictBox(tone: string, word: string, text: string): HTMLElement {
  return h(
    "section",
    { class: `verdict ${tone}`, "aria-labelledby": "verdict-word" },
    h("h2", { id: "verdict-word" }, word),
    h("p", {}, text),
  );
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
function splitVerdict(meta: PageMeta): { word: string; tone: string; text: string } {
  const word = FINDING_TITLES[meta.verdict] ?? "Healthy";
  const tone = TONES[meta.verdict];
  const parts = VERDICT_PARTS.exec(meta.verdict_text);
  if (!parts) return { word, tone, text: meta.verdict_text };
  return { word: parts[1]!, tone: parts[1] === word ? tone : "", text: parts[2]! };
}

export function tilesView(state: State): HTMLElement {
  const list = h("dl", { class: "tiles" });
  const fill = (): void => list.replaceChildren(...tiles(state.lane).map(tileElement));
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
  const inBlocks =
    rounded === null
      ? "as the last sample says"
      : `${fmt.bytes(rounded)} in the allocator's blocks`;
  const most = m.peak_reserved_bytes;
  const atMost = most === null ? "the input does not say" : `at most ${fmt.bytes(most)}`;
  const first = m.is_sampled ? "First sample" : "Before the trace";
  return [
    bytes("peak", "Peak", m.peak_bytes, peakNote(lane)),
    bytes("live", "Live at the end", m.live_bytes, inBlocks),
    bytes("reserved", "Reserved", m.reserved_bytes, atMost),
    bytes("base", first, m.base_bytes, "already live when it began"),
    eventsTile(m),
    ...(lane.hasTime && m.events > 0 ? [timeTile(m)] : []),
  ];
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
    ? "nothing is known in between"
    : `${fmt.plural(m.allocs, "allocation")}, ${fmt.plural(m.frees, "free")}`;
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
      site && site.file !== "" ? h("code", {}, `${site.file}:${site.line}`) : null,
      ` Cause: ${oom.cause.replace("-", " ")}.${last}`,
    ),
    figures(...rows.map(([name, value]) => figure(name, fmt.bytes(value), value))),
  );
}
