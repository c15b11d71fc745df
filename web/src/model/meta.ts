// The shape of the JSON part of a page, as src/page/page_meta.c writes it.

export interface SectionMeta {
  deflate: boolean;
  bytes: number;
  /** name -> [byte offset, byte length, number of values] */
  columns: Record<string, [number, number, number]>;
}

export interface InputMeta {
  path: string;
  /** "rank 1", "DataLoader worker 4711": what a process of a run is; null for any other input */
  name: string | null;
  kind: string;
  /** what ran, where and when; null where the input does not say */
  identity: string | null;
  events: number;
  dropped_events: number | null;
  is_live: boolean;
  has_time: boolean;
  has_stacks: boolean;
  has_requested_sizes: boolean;
  notes: string[];
  settings: string | null;
}

export interface LaneMeta {
  input: number;
  device: number;
  /** of a file with samples of several ranks, else null */
  rank: number | null;
  /** the input holds readings of counters; every "event" is one of them */
  is_sampled: boolean;
  /** what all times of the lane count from: the start of the run, or of the lane */
  first_us: number;
  last_us: number;
  /** first event after first_us; above 0 in a process that began later than its run */
  start_us: number;
  events: number;
  allocs: number;
  frees: number;
  base_bytes: number;
  live_bytes: number;
  live_rounded_bytes: number | null;
  /** null where there is no history to have a peak */
  peak_bytes: number | null;
  peak_event: number;
  peak_time_us: number;
  reserved_bytes: number | null;
  peak_reserved_bytes: number | null;
  capacity_bytes: number | null;
  identity_holds: boolean;
  identity_residue: number;
  steps: number | null;
  steps_marked: boolean;
  fragmentation: Record<string, number | null> | null;
  /** events per bin of the curve; 1 = every event */
  bin_events: number;
  blocks_total: number;
  blocks_kept: number;
  /** no block that was dropped is larger */
  largest_left_bytes: number;
  largest_block_bytes: number;
  stacks_total: number;
  stacks_kept: number;
  segments_total: number;
  end_blocks_total: number;
  /** by tag and by module: empty where the input does not say */
  groups: Record<"line" | "file" | "stream" | "tag" | "module", GroupMeta[]>;
  counters: string[];
  oom_events: { event: number; time_us: number; bytes: number }[];
  /** null where the card was never read */
  ledger: LedgerMeta | null;
  /** null where no other allocator settings were tried, or the replay was not exact */
  whatif: WhatifMeta | null;
  /** of this device and of the host */
  alerts: AlertMeta[];
  /** view -> why it cannot be shown for this input */
  absent: Record<string, string>;
}

export interface LedgerMeta {
  /** the moment that shows what filled the card */
  fullest: number;
  total_bytes: number | null;
  /** from the bottom of the stack up */
  rows: { kind: string; name: string; meaning: string }[];
}

export interface WhatifMeta {
  /** sentences; "" where there is nothing to say */
  says: Record<
    "proof" | "limit" | "best" | "paste" | "floor" | "caveat" | "failure" | "remedy",
    string
  >;
  best_row: number | null;
  floor_bytes: number;
  limit_bytes: number | null;
  /** as recorded, the best one, then from the lowest peak up; row: the first with this curve */
  curves: { row: number; also: number; peak_bytes: number }[];
  rows: WhatifRowMeta[];
}

export interface WhatifRowMeta {
  name: string;
  /** a bound: shows what is possible at another cost; not a setting to use */
  is_bound: boolean;
  fits: boolean;
  peak_bytes: number;
  waste_bytes: number;
  retries: number;
  driver_calls: number;
  curve: number | null;
  /** words, or "" */
  range: string;
  failure: string;
}

export interface AlertMeta {
  device: number;
  time_us: number;
  severity: string;
  text: string;
  value_bytes: number;
  threshold_bytes: number;
}

export interface GroupMeta {
  label: string;
  /** frame of the user's line, or null */
  frame: number | null;
  /** everything that has no group of its own */
  is_rest: boolean;
}

export interface FindingMeta {
  kind: string;
  severity: "critical" | "warning" | "info";
  confidence: number;
  lane: number | null;
  device: number;
  stack: number | null;
  /** frame of the user's line */
  site: number | null;
  subkind: string | null;
  bytes: number | null;
  blocks: number | null;
  bytes_per_second: number | null;
  bytes_per_step: number | null;
  r_squared: number | null;
  growth_share: number | null;
  first_time_us: number;
  last_time_us: number;
  title: string;
  explanation: string;
  advice: string | null;
  /** what other allocator settings would do about it; null if that was not computed */
  whatif: { result: string; settings: string | null } | null;
  evidence: {
    name: string;
    value: number | null;
    unit: string;
    threshold: number | null;
    relation: string | null;
  }[];
}

export interface OomMeta {
  lane: number | null;
  device: number;
  requested_bytes: number;
  allocated_bytes: number | null;
  reserved_bytes: number | null;
  device_free_bytes: number | null;
  limit_bytes: number | null;
  time_us: number;
  cause: string;
  explanation: string;
  stack: number | null;
  site: number | null;
  count: number;
}

export interface HeatMeta {
  bins: number;
  span_us: number;
  /** common: a bin is a share of the time; own: of each row's events */
  clock: "common" | "own";
}

/** A page of an input that could not be read: nothing else is in it. */
export interface FailureMeta {
  title: string;
  generator: string;
  failure: string;
}

export interface PageMeta {
  schema: string;
  generator: string;
  title: string;
  mode: "one" | "many" | "diff";
  verdict: "healthy" | "leak" | "oom" | "fragmentation" | "spike";
  verdict_text: string;
  /** what blocks can be for; the first is "unknown" */
  tag_names: string[];
  inputs: InputMeta[];
  lanes: LaneMeta[];
  findings: FindingMeta[];
  oom: OomMeta | null;
  heat: HeatMeta | null;
  sections: Record<string, SectionMeta>;
}
