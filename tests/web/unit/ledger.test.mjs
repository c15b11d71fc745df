import assert from "node:assert/strict";
import { test } from "node:test";
import { loadModel } from "../load_model.mjs";

const { Ledger } = await loadModel("model/ledger.ts");

const f = (...v) => Float64Array.from(v);
const meta = {
  fullest: 1,
  total_bytes: 100,
  rows: [
    { kind: "tensors", name: "tensors", meaning: "" },
    { kind: "rest", name: "rest", meaning: "" },
  ],
};
/** Read at 10, 20 and 30 µs: 5 + 1, 50 + not known, 7 + 0 bytes. */
const ledger = new Ledger(meta, {
  time: f(10, 20, 30),
  used: f(7, 51, 8),
  used_max: f(6, 60, 7),
  bytes: f(6, 51, 8, 2, 0, 1),
});

test("a row that was not measured is null, and 0 is 0", () => {
  assert.deepEqual(
    [0, 1, 2].map((m) => ledger.bytes(0, m)),
    [5, 50, 7],
  );
  assert.deepEqual(
    [0, 1, 2].map((m) => ledger.bytes(1, m)),
    [1, null, 0],
  );
  assert.equal(ledger.highest(1), 1);
  assert.equal(ledger.used(1), 50);
});

test("a reading is valid until the next one", () => {
  assert.deepEqual(
    [0, 10, 19, 20, 1e9].map((us) => ledger.at(us)),
    [0, 0, 0, 1, 2],
  );
  assert.equal(ledger.mostUsed(), 60);
});

test("a pixel column shows the fullest of its moments", () => {
  assert.deepEqual([...ledger.fold(f(0, 5, 12, 18, 25, 40))], [-1, 0, 0, 1, 1]);
  assert.deepEqual([...ledger.fold(f(31, 35, 40))], [2, 2]);
});
