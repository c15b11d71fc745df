// Where the data came from, what was left out of the page, and what the reader noticed.
import { alertList } from "../draw/alert_marks.ts";
import { h } from "../draw/dom.ts";
import { describeKept } from "../model/blocks.ts";
import * as fmt from "../model/format.ts";
import type { State } from "../state.ts";
import { kindText } from "./top.ts";

export function aboutView(state: State): Promise<HTMLElement[]> {
  const { meta } = state.data;
  const lane = state.lane.meta;
  const row = (name: string, text: string): HTMLElement =>
    h("div", {}, h("dt", {}, name), h("dd", {}, text));
  const inputs = meta.inputs.map((input) =>
    h(
      "div",
      { class: "input" },
      h("h3", {}, input.path),
      h(
        "dl",
        { class: "figures" },
        row("Kind", kindText(input)),
        input.identity === null ? null : row("What ran", input.identity),
        row("Events", fmt.count(input.events)),
        row(
          "Lost before it was read",
          input.dropped_events === null ? "not known" : fmt.count(input.dropped_events),
        ),
        row("Clock", input.has_time ? "microseconds" : "none: events are numbered"),
        row("Stacks", input.has_stacks ? "recorded with the events" : "not recorded"),
        row(
          "Sizes",
          input.has_requested_sizes ? "bytes the program asked for" : "rounded up by the allocator",
        ),
      ),
      input.settings ? h("p", {}, "Allocator settings: ", h("code", {}, input.settings)) : null,
      input.is_live ? h("p", {}, "The program was still running when this was read.") : null,
      input.notes.length > 0 ? h("ul", {}, ...input.notes.map((n) => h("li", {}, n))) : null,
    ),
  );
  const word = lane.is_sampled ? "sample" : "event";
  const curve =
    lane.bin_events === 1
      ? `The curve holds every ${word}.`
      : `A point of the curve stands for ${fmt.plural(lane.bin_events, word)}, with their true lowest and highest value.`;
  const ofBlocks = lane.is_sampled
    ? []
    : [
        describeKept(lane.blocks_kept, lane.blocks_total, lane.largest_left_bytes),
        lane.stacks_kept === lane.stacks_total
          ? `All ${fmt.count(lane.stacks_total)} stacks are kept whole.`
          : `${fmt.count(lane.stacks_kept)} of ${fmt.count(lane.stacks_total)} stacks are kept whole, by what they held; the others are folded to their line.`,
        lane.identity_holds
          ? "The events and the end state agree to the byte."
          : `The events and the end state differ by ${fmt.delta(lane.identity_residue)}: part of the history is missing, or the end state is not known.`,
      ];
  const detail = [curve, ...ofBlocks, ...Object.values(lane.absent)];
  const alerts = alertList(lane.alerts);
  return Promise.resolve([
    ...(alerts ? [h("h3", {}, "Alerts of the recorder"), alerts] : []),
    h("h3", {}, "What this page holds of the shown device"),
    h("ul", {}, ...detail.map((d) => h("li", {}, d))),
    ...inputs,
    h(
      "p",
      { class: "sub" },
      `Made by ${meta.generator}. The page is one file; it loads nothing and sends nothing.`,
    ),
  ]);
}
