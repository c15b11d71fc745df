// Keeps what the reader has chosen in the page's address, so that a link or a reload leads back to
// it.
import type { AxisKind } from "./model/axis.ts";
import { placeOfHash, placeToHash, type Place } from "./model/place_hash.ts";
import { fittingAxis, startInstant, type Stacking, type State } from "./state.ts";
import type { Tabs } from "./tabs.ts";

/** A drag changes the range many times per second; the address is updated once it stops. */
const REST_MS = 120;

/** The state in which the page opens by default. */
export interface Opening {
  lane: number;
  view: string;
}

function unless<T>(value: T, usual: T): T | undefined {
  return value === usual ? undefined : value;
}

function placeOf(state: State, opening: Opening): Place {
  const { lane, range } = state;
  return {
    lane: unless(lane.index, opening.lane),
    view: unless(state.view, opening.view),
    axis: unless(state.axisKind, fittingAxis(lane)),
    by: unless(state.stacking, "none"),
    from: unless(range.from, 0),
    to: unless(range.to, lane.lastEvent),
    at: unless(state.instant, startInstant(lane)),
    find: unless(state.highlight, ""),
  };
}

/** Resolves when the page shows the place. */
async function goTo(state: State, tabs: Tabs, place: Place, opening: Opening): Promise<void> {
  const lane = place.lane ?? opening.lane;
  if (lane >= 0 && lane < state.data.meta.lanes.length) await state.setLane(lane);
  const isAxis = place.axis === "event" || (place.axis === "time" && state.lane.hasTime);
  state.setAxis(isAxis ? (place.axis as AxisKind) : fittingAxis(state.lane));
  state.setRange(place.from ?? 0, place.to ?? state.lane.lastEvent);
  state.setInstant(place.at ?? startInstant(state.lane));
  const isSplit = place.by !== undefined && place.by in state.lane.meta.groups;
  state.setStacking(isSplit ? (place.by as Stacking) : "none");
  state.setHighlight(place.find ?? "");
  await tabs.open(place.view ?? opening.view);
}

/**
 * Goes to the place in the address and keeps the address up to date from then on. Resolves when the
 * place is drawn.
 */
export async function followAddress(state: State, tabs: Tabs, opening: Opening): Promise<void> {
  await goTo(state, tabs, placeOfHash(location.hash), opening);
  let rest: ReturnType<typeof setTimeout> | undefined;
  const write = (): void => {
    const hash = placeToHash(placeOf(state, opening));
    if (hash === location.hash.replace(/^#/, "")) return;
    // Not a step of the browser's history: Back leads to the page before this one.
    history.replaceState(null, "", hash === "" ? location.pathname + location.search : `#${hash}`);
  };
  state.on(["lane", "range", "axis", "instant", "highlight", "stacking", "view"], () => {
    clearTimeout(rest);
    rest = setTimeout(write, REST_MS);
  });
  addEventListener("hashchange", () => void goTo(state, tabs, placeOfHash(location.hash), opening));
}
