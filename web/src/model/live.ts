// Bytes by stack: live after an event, grown or allocated within a range. Exact at any event when
// every block was kept; otherwise at checkpoints whose figures C computed exactly.
import type { Range } from "./axis.ts";
import { lowerBound } from "./axis.ts";
import type { Blocks } from "./blocks.ts";
import type { Columns } from "./data.ts";

export interface StackSums {
  bytes: Float64Array;
  blocks: Float64Array;
  /** the event (or events) for which the figures are exact */
  from: number;
  to: number;
}

export class LiveSets {
  readonly stackCnt: number;
  readonly isExact: boolean;
  private readonly blocks: Blocks;
  private readonly matrix: Columns<"matrix"> | null;

  constructor(
    blocks: Blocks,
    matrix: Columns<"matrix"> | null,
    stackCnt: number,
    isComplete: boolean,
  ) {
    this.blocks = blocks;
    this.matrix = matrix;
    this.stackCnt = stackCnt;
    this.isExact = isComplete;
  }

  private empty(from: number, to: number): StackSums {
    return {
      bytes: new Float64Array(this.stackCnt),
      blocks: new Float64Array(this.stackCnt),
      from,
      to,
    };
  }

  /** The checkpoint nearest to an event. */
  private checkpoint(event: number): number {
    const events = this.matrix!.event;
    const after = lowerBound(events, event);
    if (after === 0) return 0;
    if (after === events.length) return events.length - 1;
    return event - events[after - 1]! <= events[after]! - event ? after - 1 : after;
  }

  /** The event whose figures are shown for `event`. */
  snap(event: number): number {
    if (this.isExact || !this.matrix || this.matrix.event.length === 0) return event;
    return this.matrix.event[this.checkpoint(event)]!;
  }

  liveAt(event: number): StackSums {
    return this.isExact || !this.matrix ? this.liveFromBlocks(event) : this.liveFromMatrix(event);
  }

  private liveFromBlocks(event: number): StackSums {
    const out = this.empty(event, event);
    const { begin, end, size, stack, cnt } = this.blocks;
    for (let i = 0; i < cnt && begin[i]! <= event; i++) {
      if (end[i]! <= event) continue;
      out.bytes[stack[i]!]! += size[i]!;
      out.blocks[stack[i]!]! += 1;
    }
    return out;
  }

  private liveFromMatrix(event: number): StackSums {
    const m = this.matrix!;
    const c = this.checkpoint(event);
    const out = this.empty(m.event[c]!, m.event[c]!);
    const n = m.event.length;
    for (let row = 0; row < m.stack.length; row++) {
      out.bytes[m.stack[row]!]! += m.live[row * n + c]!;
      out.blocks[m.stack[row]!]! += m.blocks[row * n + c]!;
    }
    return out;
  }

  /** Live after the range minus live before its first event. */
  growth(range: Range): StackSums {
    const before = this.liveAt(range.from - 1);
    const after = this.liveAt(range.to);
    for (let s = 0; s < this.stackCnt; s++) {
      after.bytes[s]! -= before.bytes[s]!;
      after.blocks[s]! -= before.blocks[s]!;
    }
    after.from = before.from;
    return after;
  }

  /** Everything allocated in the range, freed again or not. */
  churn(range: Range): StackSums {
    if (!this.isExact && this.matrix) return this.churnFromMatrix(range);
    const out = this.empty(range.from, range.to);
    const { begin, size, stack, cnt } = this.blocks;
    for (let i = 0; i < cnt; i++) {
      if (begin[i]! < range.from || begin[i]! > range.to) continue;
      out.bytes[stack[i]!]! += size[i]!;
      out.blocks[stack[i]!]! += 1;
    }
    return out;
  }

  private churnFromMatrix(range: Range): StackSums {
    const m = this.matrix!;
    const a = this.checkpoint(range.from - 1);
    const b = this.checkpoint(range.to);
    const out = this.empty(m.event[a]!, m.event[b]!);
    const n = m.event.length;
    for (let row = 0; row < m.stack.length; row++) {
      out.bytes[m.stack[row]!]! += m.alloc_bytes[row * n + b]! - m.alloc_bytes[row * n + a]!;
      out.blocks[m.stack[row]!]! += m.allocs[row * n + b]! - m.allocs[row * n + a]!;
    }
    return out;
  }
}
