import assert from "node:assert/strict";
import { test } from "node:test";
import { loadModel } from "../load_model.mjs";

const { firstLane } = await loadModel("model/first_lane.ts");

const lane = (input, device, peak_bytes, events = 10) => {
  return { input, device, peak_bytes, live_bytes: 1, events };
};
const finding = (kind, severity, of) => ({ kind, severity, lane: of });
const page = (fields) => ({ mode: "one", verdict: "healthy", findings: [], oom: null, ...fields });

const LANES = [lane(0, -1, 5, 9000), lane(0, 0, 40), lane(0, 1, 90)];

test("without a finding, the lane with the highest peak is chosen", () => {
  assert.equal(firstLane(page({ lanes: LANES })), 2);
});

test("a warning decides the first lane, a remark does not", () => {
  assert.equal(firstLane(page({ lanes: LANES, findings: [finding("gap", "info", 0)] })), 2);
  const findings = [finding("gap", "info", 0), finding("gap", "warning", 1)];
  assert.equal(firstLane(page({ lanes: LANES, findings })), 1);
});

test("the verdict's own finding comes before others, the most severe of them first", () => {
  const findings = [
    finding("fragmentation", "critical", 2),
    finding("leak", "warning", 2),
    finding("leak", "critical", 0),
  ];
  assert.equal(firstLane(page({ lanes: LANES, verdict: "leak", findings })), 0);
});

test("the device of the failed request is chosen", () => {
  const findings = [finding("leak", "critical", 2)];
  assert.equal(firstLane(page({ lanes: LANES, verdict: "oom", findings, oom: { lane: 1 } })), 1);
  assert.equal(firstLane(page({ lanes: LANES, verdict: "oom", findings, oom: { lane: null } })), 2);
});

test("a comparison opens with its later input", () => {
  const lanes = [lane(0, 0, 90), lane(1, 0, 10), lane(1, 1, 20)];
  const findings = [finding("leak", "critical", 0)];
  assert.equal(firstLane(page({ mode: "diff", lanes, verdict: "leak", findings })), 2);
  assert.equal(firstLane(page({ mode: "diff", lanes: lanes.slice(0, 1) })), 0);
});

test("lanes without a history are compared by what is live", () => {
  const lanes = [lane(0, 0, null, 0), { ...lane(0, 1, null, 0), live_bytes: 7 }];
  assert.equal(firstLane(page({ lanes })), 1);
});
