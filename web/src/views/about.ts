// Where the data came from, what the page does not include, and the notes of the input's reader.
import { alertList } from "../draw/alert_marks.ts";
import { h } from "../draw/dom.ts";
import { figure, figures } from "../draw/parts.ts";
import { describeKept } from "../model/blocks.ts";
import * as fmt from "../model/format.ts";
import type { InputMeta, LaneMeta } from "../model/meta.ts";
import type { State } from "../state.ts";
import { kindText } from "./top.ts";

export function aboutView(state: State): Promise<HTMLElement[]> {
  const { meta } = state.data;
  const lane = state.lane.meta;
  const detail = [curveText(lane), ...blockTexts(lane), ...Object.values(lane.absent)];
  const alerts = alertList(lane.alerts);
  return Promise.resolve([
    ...(alerts ? [h("h3", {}, "Alerts of the recorder"), alerts] : []),
    h("h3", {}, "What this page shows of this device"),
    h("ul", {}, ...detail.map((d) => h("li", {}, d))),
    ...meta.inputs.map(inputPart),
    h(
      "p",
      { class: "sub" },
      `Made by ${meta.generator}. The page is one file; it loads nothing and sends nothing.`,
    ),
  ]);
}

function inputPart(input: InputMeta): HTMLElement {
  const { dropped_events: dropped, identity, notes, settings } = input;
  return h(
    "div",
    { class: "input" },
    h("h3", {}, input.path),
    figures(
      figure("Kind", kindText(input)),
      identity === null ? null : figure("What ran", identity),
      figure("Events", fmt.count(input.events)),
      figure("Events lost", dropped === null ? "not known" : fmt.count(dropped)),
      figure("Clock", input.has_time ? "microseconds" : "none: events are numbered"),
      figure("Stacks", input.has_stacks ? "recorded with the events" : "not recorded"),
      figure(
        "Sizes",
        input.has_requested_sizes ? "bytes the program asked for" : "rounded up by the allocator",
      ),
    ),
    settings ? h("p", {}, "Allocator settings: ", h("code", {}, settings)) : null,
    input.is_live ? h("p", {}, "The program was still running when this was read.") : null,
    notes.length > 0 ? h("ul", {}, ...notes.map((n) => h("li", {}, n))) : null,
  );
}

function curveText(lane: LaneMeta): string {
  const word = lane.is_sampled ? "sample" : "event";
  if (lane.bin_events === 1) return `The curve holds every ${word}.`;
  const many = fmt.plural(lane.bin_events, word);
  return `A point of the curve stands for ${many}, with their true lowest and highest value.`;
}

function blockTexts(lane: LaneMeta): string[] {
  if (lane.is_sampled) return [];
  const { stacks_kept: kept, stacks_total: total } = lane;
  return [
    describeKept(lane.blocks_kept, lane.blocks_total, lane.largest_left_bytes),
    kept === total
      ? `All ${fmt.count(total)} stacks are kept whole.`
      : `${fmt.count(kept)} of ${fmt.count(total)} stacks are kept whole, by what they held; ` +
        "the others are folded to their line.",
    lane.identity_holds
      ? "The events and the end state agree to the byte."
      : `The events and the end state differ by ${fmt.delta(lane.identity_residue)}: ` +
        "part of the history is missing, or the end state is not known.",
  ];
}
