import assert from "node:assert/strict";
import { test } from "node:test";
import { loadModel } from "../load_model.mjs";

const { Whatif } = await loadModel("model/whatif.ts");

const f = (...v) => Float64Array.from(v);
const meta = {
  says: {},
  best_row: 1,
  floor_bytes: 5,
  limit_bytes: null,
  curves: [
    { row: 0, also: 2, peak_bytes: 30 },
    { row: 1, also: 0, peak_bytes: 9 },
    { row: 4, also: 0, peak_bytes: 500 },
  ],
  rows: [
    { name: "as recorded (defaults)", fits: true, curve: 0, retries: 1 },
    { name: "best", fits: false, curve: 1, retries: 1 },
    { name: "a", fits: true, curve: 0, retries: 1 },
    { name: "b", fits: true, curve: 0, retries: 2 },
    { name: "tall", fits: false, curve: 2, retries: 1 },
  ],
};
/** Four bins of 10 events; the second curve fails in the third bin, the third in the last. */
const whatif = new Whatif(
  meta,
  { event: f(0, 10, 20, 30), reserved: f(1, 11, 31, 21, 1, 6, 10, 0, 1, 1, 501, 501) },
  40,
);

test("every event number has a bin", () => {
  assert.deepEqual(
    [-5, 0, 9, 10, 39, 40, 1e9].map((e) => whatif.binOf(e)),
    [0, 0, 0, 1, 3, 3, 3],
  );
});

test("the highest value of several bins is found; there is none after a failed request", () => {
  assert.equal(whatif.highest(0, 0, 3), 30);
  assert.equal(whatif.highest(0, 0, 0), 0);
  assert.equal(whatif.highest(1, 2, 3), 9);
  assert.ok(Number.isNaN(whatif.highest(1, 3, 3)));
  assert.equal(whatif.highest(0, 3, 2), 20);
});

test("a curve far above the others does not set the scale", () => {
  assert.equal(whatif.top(), 60 * 1.08);
  const near = new Whatif({ ...meta, limit_bytes: 100 }, { event: f(0), reserved: f(1, 1, 1) }, 1);
  assert.equal(near.top(), 100 * 1.08);
  const far = new Whatif({ ...meta, limit_bytes: 1000 }, { event: f(0), reserved: f(1, 1, 1) }, 1);
  assert.equal(far.top(), 60 * 1.08);
});

test("settings with the same curve are counted in its name", () => {
  assert.equal(whatif.nameOf(0), "as recorded (defaults) and 2 more");
  assert.equal(whatif.nameOf(1), "best");
});

test("settings that change nothing are distinguished from those that change something", () => {
  assert.deepEqual(whatif.differing(), [0, 1, 3, 4]);
  assert.deepEqual(whatif.same(), ["a"]);
});

test("a curve ends with the bin in which a request failed", () => {
  assert.deepEqual(
    [0, 1, 2].map((c) => whatif.lastOf(c)),
    [null, 2, 3],
  );
  assert.equal(whatif.eventOf(2), 20);
});
