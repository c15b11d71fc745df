import assert from "node:assert/strict";
import { test } from "node:test";
import { loadModel } from "../load_model.mjs";

const { Curve, NOT_BEGUN } = await loadModel("model/curve.ts");
const { Axis } = await loadModel("model/axis.ts");

const f = (...v) => Float64Array.from(v);

/** A curve from values after each event, in bins of k events, as C makes it. */
function makeCurve(values, times, k, base = 0) {
  const cols = {
    time: [],
    max: [],
    min: [],
    last: [],
    at: [],
    reserved_max: [],
    reserved_last: [],
  };
  for (let first = 0; first < values.length; first += k) {
    const part = values.slice(first, first + k);
    const entry = first > 0 ? values[first - 1] : base;
    const max = Math.max(...part);
    cols.time.push(times[first]);
    cols.max.push(max);
    cols.min.push(Math.min(entry, ...part));
    cols.last.push(part[part.length - 1]);
    cols.at.push(part.indexOf(max));
  }
  const typed = Object.fromEntries(Object.entries(cols).map(([name, v]) => [name, f(...v)]));
  return { curve: new Curve(typed, k, base, values.length), time: typed.time };
}

const values = [5, 9, 2, 2, 7, 1, 1, 30, 1, 4];
const times = values.map((_, i) => i * 1e6);

test("every pixel column has the true lowest and highest value", () => {
  const { curve, time } = makeCurve(values, times, 1, 3);
  const axis = new Axis("event", time, 1, values.length, 9e6);
  const out = curve.fold(axis, 0, 10, 5);
  assert.deepEqual([...out.max], [9, 9, 7, 30, 30]);
  assert.deepEqual([...out.min], [3, 2, 1, 1, 1]);
});

test("a process that began later than its run has no curve before its start", () => {
  const late = times.map((us) => us + 10e6);
  for (const k of [1, 4]) {
    const { curve, time } = makeCurve(values, late, k, 3);
    const byTime = curve.fold(new Axis("time", time, k, values.length, 19e6), 0, 20, 4);
    assert.deepEqual([...byTime.max].slice(0, 2), [NaN, NaN], `bins of ${k}`);
    assert.deepEqual([...byTime.at].slice(0, 2), [NOT_BEGUN, NOT_BEGUN], `bins of ${k}`);
    assert.equal(byTime.max[3], 30, `bins of ${k}`);
    const byEvent = curve.fold(new Axis("event", time, k, values.length, 19e6), 0, 10, 5);
    assert.equal(byEvent.max[0], 9, `bins of ${k}`);
  }
});

test("the moment of a column's maximum is found, even if it is the state before the column", () => {
  const { curve, time } = makeCurve(values, times, 1, 3);
  const axis = new Axis("event", time, 1, values.length, 9e6);
  const out = curve.fold(axis, 0, 10, 5);
  assert.deepEqual([...out.at], [1, 1, 4, 7, 7]);
});

test("a peak inside a bin of many events is visible at any width", () => {
  const { curve, time } = makeCurve(values, times, 4);
  for (const kind of ["event", "time"]) {
    const axis = new Axis(kind, time, 4, values.length, 9e6);
    for (const width of [1, 2, 3, 7, 50, 400]) {
      const out = curve.fold(axis, axis.min, axis.max, width);
      assert.equal(Math.max(...out.max), 30, `${kind} ${width}`);
      assert.equal(Math.min(...out.min), 0, `${kind} ${width}`);
      assert.equal(out.at[out.max.indexOf(30)], 7);
    }
  }
});

test("figures at an event are exact with one event per bin, and bounds otherwise", () => {
  assert.deepEqual(pick(makeCurve(values, times, 1).curve.pointAt(7)), {
    min: 30,
    max: 30,
    from: 7,
    to: 7,
  });
  assert.deepEqual(pick(makeCurve(values, times, 4).curve.pointAt(7)), {
    min: 1,
    max: 30,
    from: 4,
    to: 7,
  });
});

function pick({ min, max, from, to }) {
  return { min, max, from, to };
}

test("reserved bytes stay at their last value where nothing happens", () => {
  const { curve, time } = makeCurve([1, 1], [0, 8e6], 1);
  curve.cols.reserved_max = f(5, 9);
  curve.cols.reserved_last = f(5, 9);
  const out = curve.fold(new Axis("time", time, 1, 2, 10e6), 0, 10, 5);
  assert.deepEqual([...out.reserved], [5, 5, 5, 5, 9]);
});

test("the peak of a range is its highest value", () => {
  assert.deepEqual(makeCurve(values, times, 1).curve.peak(2, 6), { event: 4, bytes: 7 });
});

test("time and event axes agree on every event", () => {
  const uneven = [0, 0, 5, 5, 5, 100, 1000, 1001, 5000, 5000];
  const { time } = makeCurve(values, uneven, 1);
  const axis = new Axis("time", time, 1, values.length, 5000);
  assert.equal(axis.event(axis.x(6)), 6);
  assert.equal(axis.event(axis.x(2)), 4); // of several at one time, the state after the last
  assert.equal(axis.event(axis.max), 9);
  assert.equal(axis.event(-1), 0);
});

test("an empty curve returns no figures", () => {
  const { curve } = makeCurve([], [], 1, 11);
  assert.equal(curve.pointAt(0).max, 11);
});
