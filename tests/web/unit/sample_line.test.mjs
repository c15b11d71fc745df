// Samples as a line.
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadModel } from "../load_model.mjs";

const { sampleLine, samplesIn } = await loadModel("model/sample_line.ts");
const x = Float64Array.of(0, 1, 5);
const value = Float64Array.of(0, 10, 50);

test("a column has its highest sample, or a point on the line between two samples", () => {
  assert.deepEqual([...sampleLine(x, value, 0, 5, 5)], [0, 10, 25, 35, 50]);
  assert.deepEqual([...sampleLine(x, value, 0, 10, 2)], [10, 50]);
});

test("before the first and after the last sample there is no line", () => {
  assert.deepEqual([...sampleLine(x, value, -2, 8, 5)], [NaN, 10, 30, 50, NaN]);
  assert.deepEqual([...sampleLine(Float64Array.of(), value, 0, 1, 2)], [NaN, NaN]);
});

test("the visible samples are counted", () => {
  assert.equal(samplesIn(x, 0, 5), 2);
  assert.equal(samplesIn(x, 0, 5.1), 3);
});
