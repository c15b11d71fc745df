// The timeline in words: the readout, the legend, and what the input cannot tell.
import { groupColor, theme } from "../draw/colors.ts";
import { h } from "../draw/dom.ts";
import { legendItem } from "../draw/parts.ts";
import * as fmt from "../model/format.ts";
import type { GroupMeta, LaneMeta } from "../model/meta.ts";
import { USED_ON_DEVICE, type Readings } from "../model/readings.ts";
import type { Lane, Stacking, State } from "../state.ts";

const NAMES_SHOWN = 5;

/** The limit is shown once memory reaches 1/CAPACITY_REACH of it. */
export const CAPACITY_REACH = 3;

/** An event, or a sample where the input holds readings. */
function eventWord(lane: Lane): string {
  return lane.meta.is_sampled ? "sample" : "event";
}

/** The state after an event; `lead` says which moment it is. */
export function momentSentence(
  state: State,
  event: number,
  lead: string,
  used: Readings | null,
): string {
  const { lane } = state;
  const { base_bytes, bin_events, peak_bytes, peak_event } = lane.meta;
  if (event < 0) return `Before the first event: live ${fmt.bytes(base_bytes)}`;
  const point = lane.curve.pointAt(event);
  // Blocks whose free is missing end with the last event: there the peak is not the state after the
  // event.
  if (event === peak_event && peak_bytes !== null && bin_events === 1)
    point.min = point.max = peak_bytes;
  const us = lane.axis("time").timeOf(event);
  const when = lane.hasTime ? `${fmt.duration(us)} after the start, ` : "";
  const word = eventWord(lane);
  const which =
    point.from === point.to
      ? `${word} ${fmt.count(event)}`
      : `${word}s ${fmt.count(point.from)} to ${fmt.count(point.to)}`;
  const exact = fmt.exactBytes(point.max);
  const live =
    point.min === point.max
      ? `live ${fmt.bytes(point.max)} (${exact})`
      : `live ${fmt.bytes(point.min)} to ${fmt.bytes(point.max)} (at most ${exact})`;
  const reserved = point.reserved === null ? "" : `, reserved ${fmt.bytes(point.reserved)}`;
  const onDevice = used?.at(us) ?? null;
  const inUse = onDevice === null ? "" : `, ${USED_ON_DEVICE} ${fmt.bytes(onDevice)}`;
  return `${lead}${when}${which}: ${live}${reserved}${inUse}`;
}

/** A moment of the run before this process started. */
export function notBegunSentence(lane: Lane): string {
  const begins = `${fmt.duration(lane.meta.start_us)} after the start`;
  return `Not begun yet: the first ${eventWord(lane)} is ${begins}`;
}

/** The chosen moment, which is the peak until another one is chosen. */
export function chosenSentence(state: State, used: Readings | null): string {
  const { peak_bytes, peak_event } = state.lane.meta;
  const isPeak = state.instant === peak_event && peak_bytes !== null;
  return momentSentence(state, state.instant, isPeak ? "Peak: " : "Chosen moment: ", used);
}

export function rangeSentence(state: State): string {
  const { axis, lane, range } = state;
  if (state.isWhole) return `Whole run: ${fmt.plural(lane.meta.events, eventWord(lane))}.`;
  const text = (event: number): string =>
    state.axisKind === "time"
      ? fmt.duration(axis.timeOf(event))
      : `${eventWord(lane)} ${fmt.count(event)}`;
  const cnt = fmt.plural(range.to - range.from + 1, eventWord(lane));
  return `${text(range.from)} to ${text(range.to)}, ${cnt} selected.`;
}

export function detailSentence(lane: Lane): string {
  const word = eventWord(lane);
  const { bin_events } = lane.meta;
  if (bin_events === 1) return `Every ${word} is in this curve.`;
  const many = fmt.plural(bin_events, word);
  return `Each point of this curve is ${many}, with their true lowest and highest value.`;
}

/** "94 warning, 1 start": each name with how often it is there. */
function pointNames(points: { name: string }[]): string {
  const cnt = new Map<string, number>();
  for (const { name } of points) cnt.set(name, (cnt.get(name) ?? 0) + 1);
  const names = [...cnt].sort((a, b) => b[1] - a[1]).slice(0, NAMES_SHOWN);
  return names.map(([name, n]) => (n > 1 ? `${fmt.count(n)} × ${name}` : name)).join(", ");
}

/** The marks as text, for those who cannot see the strip. */
export function marksSentence(lane: Lane): string | null {
  const { steps, ranges, points } = lane.marks;
  const names = [...new Set(ranges.map((r) => r.name))].slice(0, NAMES_SHOWN).join(", ");
  const parts = [
    steps.length > 0 ? fmt.plural(steps.length, "step") : "",
    ranges.length > 0 ? `${fmt.plural(ranges.length, "named range")} (${names})` : "",
    points.length > 0 ? `${fmt.plural(points.length, "named point")} (${pointNames(points)})` : "",
  ].filter((p) => p !== "");
  return parts.length === 0 ? null : `Marked in the input: ${parts.join("; ")}.`;
}

/** Figures of the input that contradict each other. */
export function contradiction(lane: Lane): string | null {
  const { largest_block_bytes: largest, capacity_bytes: capacity } = lane.meta;
  if (capacity === null || largest <= capacity) return null;
  return (
    `The largest block, ${fmt.bytes(largest)}, is larger than the whole device ` +
    `(${fmt.bytes(capacity)}): either figure is wrong, or the block did not lie on this device.`
  );
}

/** Why the run cannot be split in a way that others can. */
export function missingSplits(lane: Lane): string | null {
  const why = [lane.meta.absent["tags"], lane.meta.absent["modules"]].filter(
    (t) => t !== undefined,
  );
  return why.length === 0 ? null : why.join(" ");
}

export function groupLabel(state: State, group: GroupMeta): string {
  return group.frame !== null ? state.names.label(group.frame) : fmt.shortPath(group.label);
}

/** A tag has one colour in every input; other groups are coloured by their rank. */
export function groupColors(state: State, stacking: Stacking): string[] {
  if (stacking === "none") return [];
  const t = theme();
  const { tag_names } = state.data.meta;
  return state.lane.meta.groups[stacking].map((g, i) => {
    // "unknown", the first tag, has no colour
    if (stacking === "tag") return t.series[tag_names.indexOf(g.label) - 1] ?? t.rest;
    return g.is_rest ? t.rest : groupColor(i, t);
  });
}

function liveText(lane: Lane): string {
  return lane.meta.is_sampled
    ? "live, from sample to sample"
    : "live (highest and lowest in each pixel)";
}

/** A limit that memory never came near is above the plot. */
function limitText(meta: LaneMeta): string {
  const highest = Math.max(meta.peak_bytes ?? 0, meta.live_bytes, meta.peak_reserved_bytes ?? 0);
  const isFar = highest <= meta.capacity_bytes! / CAPACITY_REACH;
  return `limit ${fmt.bytes(meta.capacity_bytes)}${isFar ? ", above the plot" : ""}`;
}

/** "before: s4_fixed.pickle.gz", and how far it goes where that is out of sight. */
function otherText(state: State, other: Lane): string {
  const { meta } = state.data;
  const word = other.meta.input < state.lane.meta.input ? "before" : "after";
  const axis = other.axis(other.hasTime ? state.axisKind : "event");
  const isLonger = axis.max > state.axis.max;
  const end = axis.kind === "time" ? fmt.duration(axis.max * 1e6) : fmt.plural(axis.max, "event");
  const name = fmt.baseName(meta.inputs[other.meta.input]!.path);
  return `${word}: ${name}${isLonger ? ` (goes on to ${end})` : ""}`;
}

export function legendItems(state: State, stacking: Stacking, other: Lane | null): HTMLElement[] {
  const t = theme();
  const { curve, meta } = state.lane;
  const { alerts, capacity_bytes: capacity } = meta;
  const colors = groupColors(state, stacking);
  const live =
    stacking === "none"
      ? [legendItem(t.live, liveText(state.lane), meta.is_sampled)]
      : meta.groups[stacking].map((g, i) => legendItem(colors[i]!, groupLabel(state, g)));
  const lines: [boolean, string, string][] = [
    [curve.hasReserved, t.reserved, "reserved by the allocator"],
    [meta.counters.includes(USED_ON_DEVICE), t.used, USED_ON_DEVICE],
    [capacity !== null, t.limit, limitText(meta)],
    [meta.oom_events.length > 0, t.bad, "out of memory"],
    [other !== null, t.other, other ? otherText(state, other) : ""],
  ];
  return [
    ...live,
    ...lines.filter(([isThere]) => isThere).map(([, color, text]) => legendItem(color, text, true)),
    ...(alerts.length > 0 ? [legendItem(t.warn, fmt.plural(alerts.length, "alert"))] : []),
  ];
}

export function sub(text: string | null, kind = "sub"): HTMLElement | null {
  return text === null ? null : h("p", { class: kind }, text);
}
