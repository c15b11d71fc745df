// What the reader has chosen. Views read it and are notified when it changes.
import { Axis, type AxisKind, type Range } from "./model/axis.ts";
import { Blocks, endsInOrder } from "./model/blocks.ts";
import { Curve } from "./model/curve.ts";
import type { Columns, PageData } from "./model/data.ts";
import * as fmt from "./model/format.ts";
import type { GroupKind } from "./model/groups.ts";
import { Ledger } from "./model/ledger.ts";
import { LiveSets } from "./model/live.ts";
import { readMarks, type Marks } from "./model/marks.ts";
import type { LaneMeta } from "./model/meta.ts";
import type { Names } from "./model/names.ts";
import { siteRows, type SiteRow } from "./model/sites.ts";

/** A lane with everything the first paint needs; the rest is decoded when asked for. */
export class Lane {
  readonly index: number;
  readonly meta: LaneMeta;
  readonly curve: Curve;
  readonly names: Names;
  readonly marks: Marks;
  private readonly data: PageData;
  private blocksPromise: Promise<Blocks> | null = null;
  private endsOrder: Uint32Array | null = null;

  private constructor(data: PageData, index: number, names: Names, curve: Curve, marks: Marks) {
    this.data = data;
    this.index = index;
    this.meta = data.meta.lanes[index]!;
    this.names = names;
    this.curve = curve;
    this.marks = marks;
  }

  static async load(data: PageData, index: number, names: Names): Promise<Lane> {
    const meta = data.meta.lanes[index]!;
    const cols = (await data.section("curve", index)) ?? emptyCurve();
    const curve = new Curve(cols, meta.bin_events, meta.base_bytes, meta.events);
    const marks = readMarks(
      await data.section("marks", index),
      names,
      meta.last_us - meta.first_us,
    );
    return new Lane(data, index, names, curve, marks);
  }

  get lastEvent(): number {
    return Math.max(0, this.meta.events - 1);
  }

  get hasTime(): boolean {
    return this.data.meta.inputs[this.meta.input]!.has_time;
  }

  /** "1.25 s (event 40)", or the event alone where there is no clock. */
  momentText(event: number): string {
    const number = `event ${fmt.count(event)}`;
    return this.hasTime ? `${fmt.duration(this.axis("time").timeOf(event))} (${number})` : number;
  }

  /** "3.10 ms, 12 events", or the events alone. */
  lifeText(us: number, events: number): string {
    const number = fmt.plural(events, "event");
    return this.hasTime ? `${fmt.duration(us)}, ${number}` : number;
  }

  axis(kind: AxisKind): Axis {
    return new Axis(
      kind,
      this.curve.cols.time,
      this.curve.k,
      Math.max(1, this.meta.events),
      this.meta.last_us - this.meta.first_us,
    );
  }

  blocks(): Promise<Blocks> {
    this.blocksPromise ??= this.data
      .section("blocks", this.index)
      .then((cols) => new Blocks(cols ?? emptyBlocks()));
    return this.blocksPromise;
  }

  /** Blocks by the event of their free. */
  async ends(): Promise<Uint32Array> {
    this.endsOrder ??= endsInOrder(await this.blocks());
    return this.endsOrder;
  }

  async live(): Promise<LiveSets> {
    const complete = this.meta.blocks_kept === this.meta.blocks_total;
    return new LiveSets(
      await this.blocks(),
      await this.data.section("matrix", this.index),
      this.names.stackCnt,
      complete,
    );
  }

  async sites(): Promise<SiteRow[]> {
    const cols = await this.data.section("sites", this.index);
    return cols ? siteRows(cols, this.names, this.data.meta.tag_names) : [];
  }

  groups(): Promise<Columns<"groups"> | null> {
    return this.data.section("groups", this.index);
  }

  segments(): Promise<Columns<"segments"> | null> {
    return this.data.section("segments", this.index);
  }

  end(): Promise<Columns<"end"> | null> {
    return this.data.section("end", this.index);
  }

  async ledger(): Promise<Ledger | null> {
    const cols = await this.data.section("ledger", this.index);
    return cols && this.meta.ledger && cols.time.length > 0
      ? new Ledger(this.meta.ledger, cols)
      : null;
  }

  counters(): Promise<Columns<"counters"> | null> {
    return this.data.section("counters", this.index);
  }
}

const NONE = new Float64Array(0);

function emptyCurve(): Columns<"curve"> {
  return {
    time: NONE,
    max: NONE,
    min: NONE,
    last: NONE,
    at: NONE,
    reserved_max: NONE,
    reserved_last: NONE,
  };
}

function emptyBlocks(): Columns<"blocks"> {
  return {
    begin: NONE,
    time: NONE,
    life: NONE,
    life_us: NONE,
    size: NONE,
    slack: NONE,
    addr_high: NONE,
    addr_low: NONE,
    stack: NONE,
    flags: NONE,
    tag: NONE,
  };
}

export type Topic = "lane" | "range" | "axis" | "instant" | "highlight" | "stacking" | "view";

/** How the timeline splits the live bytes. */
export type Stacking = "none" | GroupKind;

interface Listener {
  topics: Topic[];
  work: () => void;
  /** the listener is paused while this element is hidden and removed when it leaves the page */
  element: Element | null;
  isStale: boolean;
}

function isVisible(element: Element): boolean {
  return element.getClientRects().length > 0;
}

export class State {
  readonly data: PageData;
  readonly names: Names;
  lane: Lane;
  axisKind: AxisKind;
  range: Range;
  instant: number;
  /** words that the blocks view looks for */
  highlight = "";
  stacking: Stacking = "none";
  /** the tab that is open */
  view = "";
  private listeners: Listener[] = [];

  constructor(data: PageData, names: Names, lane: Lane) {
    this.data = data;
    this.names = names;
    this.lane = lane;
    this.axisKind = fittingAxis(lane);
    this.range = { from: 0, to: lane.lastEvent };
    this.instant = startInstant(lane);
  }

  on(topics: Topic[], work: () => void): void {
    this.listeners.push({ topics, work, element: null, isStale: false });
  }

  /**
   * The same for work that only matters while an element is visible; wake() runs what was missed.
   */
  follow(element: Element, topics: Topic[], work: () => void): void {
    this.listeners.push({ topics, work, element, isStale: false });
  }

  private tell(...topics: Topic[]): void {
    for (const l of this.listeners) {
      if (!l.topics.some((t) => topics.includes(t))) continue;
      if (l.element === null || isVisible(l.element)) l.work();
      else l.isStale = true;
    }
  }

  /**
   * Called after a view was shown: runs what it missed while hidden. Removes views that no longer
   * exist.
   */
  wake(): void {
    this.listeners = this.listeners.filter((l) => l.element === null || l.element.isConnected);
    for (const l of this.listeners) {
      if (!l.isStale || l.element === null || !isVisible(l.element)) continue;
      l.isStale = false;
      l.work();
    }
  }

  get axis(): Axis {
    return this.lane.axis(this.axisKind);
  }

  async setLane(index: number): Promise<void> {
    if (index === this.lane.index) return;
    this.lane = await Lane.load(this.data, index, this.names);
    this.axisKind = fittingAxis(this.lane);
    this.range = { from: 0, to: this.lane.lastEvent };
    this.instant = startInstant(this.lane);
    this.tell("lane", "range", "axis", "instant");
  }

  setRange(from: number, to: number): void {
    const last = this.lane.lastEvent;
    const least = Math.min(4, last);
    let a = Math.max(0, Math.min(Math.floor(from), last - least));
    let b = Math.min(last, Math.max(Math.ceil(to), a + least));
    if (!Number.isFinite(a)) a = 0;
    if (!Number.isFinite(b)) b = last;
    if (a === this.range.from && b === this.range.to) return;
    this.range = { from: a, to: b };
    this.tell("range");
  }

  get isWhole(): boolean {
    return this.range.from === 0 && this.range.to === this.lane.lastEvent;
  }

  resetRange(): void {
    this.setRange(0, this.lane.lastEvent);
  }

  /** Moves the range by a share of its length. */
  pan(share: number): void {
    const axis = this.axis;
    const [a, b] = this.span();
    const length = b - a;
    const left = Math.max(axis.min, Math.min(a + length * share, axis.max - length));
    this.setSpan(left, left + length);
  }

  /** A factor below 1 zooms in; the point at `at` (0..1) does not move. */
  zoom(factor: number, at = 0.5): void {
    const axis = this.axis;
    const [a, b] = this.span();
    const length = Math.min((b - a) * factor, axis.max - axis.min);
    const fixed = a + (b - a) * at;
    const left = Math.max(axis.min, Math.min(fixed - length * at, axis.max - length));
    this.setSpan(left, left + length);
  }

  /** The visible part of the axis. */
  span(axis = this.axis): [number, number] {
    const a = axis.x(this.range.from);
    const b = this.range.to >= this.lane.lastEvent ? axis.max : axis.x(this.range.to + 1);
    return this.range.from === 0
      ? [axis.min, Math.max(b, axis.min + 1e-9)]
      : [a, Math.max(b, a + 1e-9)];
  }

  setSpan(a: number, b: number, axis = this.axis): void {
    this.setRange(axis.event(a), b >= axis.max ? this.lane.lastEvent : axis.event(b));
  }

  setAxis(kind: AxisKind): void {
    if (kind === this.axisKind) return;
    this.axisKind = kind;
    this.tell("axis");
  }

  setInstant(event: number): void {
    const e = Math.max(-1, Math.min(event, this.lane.lastEvent));
    if (e === this.instant) return;
    this.instant = e;
    this.tell("instant");
  }

  setHighlight(words: string): void {
    if (words === this.highlight) return;
    this.highlight = words;
    this.tell("highlight");
  }

  setStacking(stacking: Stacking): void {
    if (stacking === this.stacking) return;
    this.stacking = stacking;
    this.tell("stacking");
  }

  setView(id: string): void {
    if (id === this.view) return;
    this.view = id;
    this.tell("view");
  }
}

export function startInstant(lane: Lane): number {
  return lane.meta.events === 0 ? 0 : lane.meta.peak_event; // -1 = before the first event
}

const SHARES = 20;
const SHARES_MIN = 6;

/** Time, unless there is none or nearly all events fall into a small part of the lane's own. */
export function fittingAxis(lane: Lane): AxisKind {
  const { first_us, last_us, start_us } = lane.meta;
  const length = last_us - first_us - start_us;
  if (!lane.hasTime || length <= 0) return "event";
  if (lane.meta.is_sampled) return "time"; // a line between two samples is one over time
  const cnt = new Float64Array(SHARES);
  for (const us of lane.curve.cols.time)
    cnt[Math.min(SHARES - 1, Math.floor(((us - start_us) / length) * SHARES))]! += 1;
  const busy = cnt.filter((n) => n >= lane.curve.bins / 100).length;
  return busy >= SHARES_MIN ? "time" : "event";
}
