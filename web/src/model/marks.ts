// Steps, ranges and points that the program or the framework marked.
import type { Columns } from "./data.ts";
import type { Names } from "./names.ts";

export interface MarkRange {
  name: string;
  from: number;
  to: number;
  depth: number;
}

export interface Marks {
  /** time and number of each step */
  steps: { us: number; number: number }[];
  points: { us: number; name: string }[];
  ranges: MarkRange[];
  /** ranges that were never ended: they reach to the end of the run */
  open: number;
}

const BEGIN = 0;
const END = 1;
const STEP = 3;

export function readMarks(cols: Columns<"marks"> | null, names: Names, lastUs: number): Marks {
  const out: Marks = { steps: [], points: [], ranges: [], open: 0 };
  if (!cols) return out;
  const stack: MarkRange[] = [];
  for (let i = 0; i < cols.time.length; i++) {
    const us = cols.time[i]!;
    const name = names.text(cols.name[i]!);
    const kind = cols.kind[i];
    if (kind === STEP) out.steps.push({ us, number: cols.number[i]! });
    else if (kind === BEGIN) stack.push({ name, from: us, to: lastUs, depth: stack.length });
    else if (kind === END) closeRange(stack, name, us, out);
    else out.points.push({ us, name });
  }
  out.open = stack.length;
  out.ranges.push(...stack);
  out.ranges.sort((a, b) => a.from - b.from || a.depth - b.depth);
  return out;
}

/** The innermost open range of this name; an end without a begin is ignored. */
function closeRange(stack: MarkRange[], name: string, us: number, out: Marks): void {
  for (let i = stack.length - 1; i >= 0; i--) {
    if (stack[i]!.name !== name) continue;
    const [range] = stack.splice(i, 1);
    range!.to = us;
    out.ranges.push(range!);
    return;
  }
}
