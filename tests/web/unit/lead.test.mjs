// What a page shows first: for a comparison the change, for a verdict the advice.
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadModel } from "../load_model.mjs";

const { diffLead, diffRows } = await loadModel("model/diff.ts");
const { findingToFix, leadFinding } = await loadModel("model/findings.ts");

const site = (frame, atPeak) => ({
  frame,
  label: `line ${frame}`,
  place: "",
  live: 0,
  peak: atPeak,
  atPeak,
  allocs: 1,
});

test("the line that changed most in the direction of the peak is shown first", () => {
  const rows = diffRows([site(1, 100), site(2, 50)], [site(1, 10), site(2, 450), site(3, 40)]);
  const lead = diffLead(rows, 150, 500);
  assert.deepEqual([lead.peak, lead.line.frame, lead.isWhole], [350, 2, true]);
  const less = diffLead(rows, 500, 400);
  assert.deepEqual([less.peak, less.line.frame, less.isWhole], [-100, 1, true]);
});

test("a line that is only part of the change is described as a part", () => {
  const rows = diffRows([], [site(1, 60), site(2, 40)]);
  assert.deepEqual(diffLead(rows, 0, 100).isWhole, false);
});

test("without a peak, or without a change, no line is shown first", () => {
  assert.deepEqual(diffLead([], null, 5), { peak: null, line: null, isWhole: false });
  assert.equal(diffLead(diffRows([site(1, 5)], [site(1, 5)]), 5, 5).line, null);
});

const finding = (kind, severity) => ({ kind, severity, advice: `${kind} ${severity}` });
const findings = [
  finding("oom", "critical"),
  finding("leak", "warning"),
  finding("leak", "critical"),
];

test("the most severe finding of the verdict is shown first", () => {
  assert.equal(leadFinding({ verdict: "leak", findings }), findings[2]);
  assert.equal(leadFinding({ verdict: "healthy", findings }), null);
});

test("the advice for a failure because of a leak is that of the leak", () => {
  const page = { verdict: "oom", findings, oom: { cause: "leak" } };
  assert.equal(findingToFix(page), findings[2]);
  assert.equal(findingToFix({ ...page, oom: { cause: "spike" } }), findings[0]);
});
