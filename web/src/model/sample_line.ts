// Samples as a line: between two of them nothing is known, so the line is straight.
import { lowerBound } from "./axis.ts";

/** First index whose value is above x. */
function upperBound(column: Float64Array, x: number): number {
  let at = lowerBound(column, x);
  while (at < column.length && column[at]! <= x) at++;
  return at;
}

/**
 * One value for each column of `width`, from x0 to x1: the highest sample in it; without one, on
 * the straight line between its neighbours. NaN before the first and after the last sample.
 */
export function sampleLine(
  x: Float64Array,
  value: Float64Array,
  x0: number,
  x1: number,
  width: number,
): Float64Array {
  const step = (x1 - x0) / width;
  return Float64Array.from({ length: width }, (_, i) => {
    const [left, right] = [x0 + step * i, x0 + step * (i + 1)];
    const first = lowerBound(x, left);
    // The end of the run belongs to the last column.
    const end = i === width - 1 ? upperBound(x, right) : lowerBound(x, right);
    if (end > first) return value.subarray(first, end).reduce((m, v) => (v > m ? v : m));
    if (first === 0 || first === x.length) return NaN;
    const [a, b] = [x[first - 1]!, x[first]!];
    const share = ((left + right) / 2 - a) / (b - a);
    return value[first - 1]! + (value[first]! - value[first - 1]!) * share;
  });
}

/** Samples in view; a line is drawn while they are fewer than its pixels. */
export function samplesIn(x: Float64Array, x0: number, x1: number): number {
  return lowerBound(x, x1) - lowerBound(x, x0);
}
