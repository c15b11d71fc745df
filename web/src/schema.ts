// Generated from src/page/page_schema.h and src/report/report.h by web/gen_schema.py; change those files instead.
export const SCHEMA = "stormlog.page/1";

export type Encoding = "plain" | "delta" | "bytes";

export const COLUMNS = {
  names: {
    /** all strings behind each other, as they came */
    text: "bytes",
    /** bytes of each string */
    length: "plain",
    /** string of each frame's file */
    frame_file: "plain",
    /** string of each frame's function */
    frame_function: "plain",
    /** line of each frame, 0 unknown */
    frame_line: "plain",
    /** 1 when the frame is the user's own code */
    frame_user: "plain",
    /** frames of each stack */
    stack_depth: "plain",
    /** frames of all stacks, innermost first */
    stack_frame: "plain",
    /** frame of the user's line, or of the words for its absence */
    stack_site: "plain",
  },
  marks: {
    /** when */
    time: "delta",
    /** 0 begin, 1 end, 2 point, 3 step */
    kind: "plain",
    /** string */
    name: "plain",
    /** of the step */
    number: "plain",
  },
  curve: {
    /** first event of each bin */
    time: "delta",
    /** highest live bytes within the bin */
    max: "delta",
    /** lowest live bytes within the bin, its entry value included */
    min: "delta",
    /** live bytes after the last event of the bin */
    last: "delta",
    /** event of the maximum, counted from the first event of the bin */
    at: "plain",
    /** highest reserved bytes within the bin */
    reserved_max: "delta",
    /** reserved bytes after the last event of the bin */
    reserved_last: "delta",
  },
  groups: {
    /** the event of highest live bytes within each column */
    event: "delta",
    /** live bytes at that event: a row of columns for each user line */
    line: "delta",
    /** the same for each file */
    file: "delta",
    /** the same for each stream and pool */
    stream: "delta",
    /** the same for each tag */
    tag: "delta",
    /** the same for each module: the innermost one of the stack */
    module: "delta",
  },
  blocks: {
    /** event of the allocation, ascending; -1 before the trace */
    begin: "delta",
    /** time of the allocation */
    time: "delta",
    /** events until the free */
    life: "plain",
    /** time until the free */
    life_us: "plain",
    /** bytes asked for */
    size: "plain",
    /** bytes the allocator rounded up */
    slack: "plain",
    /** upper 32 bits of the address */
    addr_high: "delta",
    /** lower 32 bits of the address */
    addr_low: "delta",
    /** stack of the allocation */
    stack: "plain",
    /** 1 live before the trace, 2 never freed */
    flags: "plain",
    /** what it is for: a number into tag_names of the JSON part */
    tag: "plain",
  },
  matrix: {
    /** event of each checkpoint; -1 before the first event */
    event: "delta",
    /** stack of each row */
    stack: "plain",
    /** live bytes, a row of checkpoints for each stack */
    live: "delta",
    /** live blocks */
    blocks: "delta",
    /** bytes allocated since the start */
    alloc_bytes: "delta",
    /** allocations since the start */
    allocs: "delta",
  },
  sites: {
    /** frame of the user's line, or of the words for its absence */
    frame: "plain",
    /** bytes live at the end */
    live: "plain",
    /** blocks live at the end */
    blocks: "plain",
    /** highest live bytes of the site itself */
    peak: "plain",
    /** bytes live at the peak of the device */
    at_peak: "plain",
    /** allocations */
    allocs: "plain",
    /** bytes allocated */
    alloc_bytes: "plain",
    /** blocks that were freed */
    freed: "plain",
    /** median life of the freed blocks, 0 when none was freed */
    median_life_us: "plain",
    /** what most of its bytes are for */
    tag: "plain",
    /** all that its blocks are for: a bit for each tag */
    tags: "plain",
  },
  segments: {
    /** event that took it, ascending; -1 before the trace */
    begin: "delta",
    /** events until it was returned */
    life: "plain",
    /** bytes */
    size: "plain",
    /** upper 32 bits of the address */
    addr_high: "delta",
    /** lower 32 bits of the address */
    addr_low: "delta",
    /** stream number */
    stream: "plain",
    /** pool number, 65535 unknown */
    pool: "plain",
    /** 1 there before the trace, 2 never returned, 4 large, 8 expandable */
    flags: "plain",
  },
  end: {
    /** segments of the end state: upper 32 bits of the address */
    seg_addr_high: "delta",
    /** lower 32 bits of the address */
    seg_addr_low: "delta",
    /** bytes */
    seg_size: "plain",
    /** stream number */
    seg_stream: "plain",
    /** pool number, 65535 unknown */
    seg_pool: "plain",
    /** 4 large, 8 expandable */
    seg_flags: "plain",
    /** blocks in use or waiting */
    seg_blocks: "plain",
    /** those blocks: bytes from the start of the segment */
    offset: "plain",
    /** rounded bytes */
    size: "plain",
    /** 1 allocated, 2 waiting to be freed */
    state: "plain",
    /** stack of the allocation */
    stack: "plain",
  },
  counters: {
    /** which counter */
    series: "plain",
    /** when it was read */
    time: "delta",
    /** bytes */
    value: "delta",
  },
  ledger: {
    /** when a reading of the card began */
    time: "delta",
    /** bytes in use on it then and 1 more; 0 not known */
    used: "plain",
    /** highest bytes in use among the readings that it stands for */
    used_max: "delta",
    /** of each row, and 1 more, 0 not known: a row of moments for each */
    bytes: "plain",
  },
  heat: {
    /** highest live bytes in each equal share of the time or of the events */
    max: "delta",
  },
} as const;

export type SectionName = keyof typeof COLUMNS;

/** Kinds of findings, and how the page calls them. */
export const FINDING_TITLES: Record<string, string> = {
  "oom": "Out of memory",
  "leak": "Leak",
  "fragmentation": "Fragmentation",
  "spike": "Spike",
  "gap": "Gap",
  "pending-free": "Waiting to be freed",
  "inefficient": "Inefficient",
  "retry": "Retry",
  "history": "Missing history",
};
