import assert from "node:assert/strict";
import { test } from "node:test";
import { loadModel } from "../load_model.mjs";

const { Names } = await loadModel("model/names.ts");
const { LiveSets } = await loadModel("model/live.ts");
const { Blocks } = await loadModel("model/blocks.ts");
const { buildTree, bytesThrough, findFrames, layoutTree, largestFirst } =
  await loadModel("model/tree.ts");
const sites = await loadModel("model/sites.ts");
const { diffRows } = await loadModel("model/diff.ts");
const ranks = await loadModel("model/ranks.ts");
const { groupFindings } = await loadModel("model/findings.ts");
const { readMarks } = await loadModel("model/marks.ts");
const { segmentsAtEnd, totals } = await loadModel("model/segments.ts");

const f = (...v) => Float64Array.from(v);

/** main (user) -> call (library) -> a or b (user); stack 0 is empty. */
function makeNames() {
  const texts = [
    "",
    "/u/train.py",
    "/site-packages/torch/m.py",
    "main",
    "call",
    "a",
    "b",
    "(stack not recorded)",
  ];
  const encoded = texts.map((t) => new TextEncoder().encode(t));
  return new Names({
    text: Float64Array.from(encoded.flatMap((b) => [...b])),
    length: Float64Array.from(encoded, (b) => b.length),
    frame_file: f(1, 2, 1, 1, 0),
    frame_function: f(3, 4, 5, 6, 7),
    frame_line: f(1, 2, 3, 4, 0),
    frame_user: f(1, 0, 1, 1, 1),
    stack_depth: f(0, 3, 3),
    stack_frame: f(2, 1, 0, 3, 1, 0),
    stack_site: f(4, 2, 3),
  });
}

function makeBlocks() {
  return new Blocks({
    begin: f(-1, 0, 2, 4),
    time: f(0, 0, 2, 4),
    life: f(11, 3, 8, 6),
    life_us: f(1, 1, 1, 1),
    size: f(100, 10, 20, 5),
    slack: f(0, 0, 0, 0),
    addr_high: f(0, 0, 0, 0),
    addr_low: f(0, 1, 2, 3),
    stack: f(0, 1, 2, 1),
    flags: f(3, 0, 2, 2),
  });
}

const live = () => new LiveSets(makeBlocks(), null, 3, true);

test("live, growth and churn from the blocks are exact at every event", () => {
  assert.deepEqual([...live().liveAt(-1).bytes], [100, 0, 0]);
  assert.deepEqual([...live().liveAt(2).bytes], [100, 10, 20]);
  assert.deepEqual([...live().liveAt(3).bytes], [100, 0, 20]);
  assert.deepEqual([...live().growth({ from: 0, to: 9 }).bytes], [0, 5, 20]);
  assert.deepEqual([...live().churn({ from: 0, to: 9 }).blocks], [0, 2, 1]);
});

test("without all blocks the nearest checkpoint is used, and its position is returned", () => {
  const matrix = {
    event: f(0, 10, 20),
    stack: f(1, 2),
    live: f(1, 2, 3, 10, 20, 30),
    blocks: f(1, 1, 1, 2, 2, 2),
    alloc_bytes: f(1, 5, 9, 0, 0, 7),
    allocs: f(1, 2, 3, 0, 0, 1),
  };
  const sets = new LiveSets(makeBlocks(), matrix, 3, false);
  const sums = sets.liveAt(14);
  assert.deepEqual([...sums.bytes], [0, 2, 20]);
  assert.equal(sums.to, 10);
  assert.equal(sets.snap(16), 20);
  assert.deepEqual([...sets.churn({ from: 10, to: 20 }).bytes], [0, 4, 7]);
});

test("the tree has every byte once, in both orders", () => {
  const names = makeNames();
  const sums = live().liveAt(2);
  for (const order of ["callees", "callers"]) {
    const root = buildTree(sums, names, { order, frames: "all", sign: 1 });
    assert.equal(root.bytes, 130);
    assert.equal(
      largestFirst(root).reduce((s, n) => s + n.bytes, 0),
      130,
    );
  }
  const user = buildTree(sums, names, { order: "callees", frames: "user", sign: 1 });
  const main = user.children.get(0);
  assert.deepEqual([...main.children.keys()].sort(), [2, 3]);
  assert.equal(user.children.get(4).bytes, 100);
});

test("bytes found by a search in the tree are counted once", () => {
  const names = makeNames();
  const root = buildTree(live().liveAt(2), names, { order: "callees", frames: "all", sign: 1 });
  assert.equal(findFrames("  ", names), null);
  assert.deepEqual([...findFrames("TRAIN.py a", names)], [0, 2, 3]);
  assert.deepEqual([...findFrames("train.py:3 a", names)], [2]);
  assert.equal(bytesThrough(root, findFrames("train.py", names)), 30);
  assert.equal(bytesThrough(root, findFrames("train.py:4", names)), 20);
  assert.equal(bytesThrough(root, findFrames("nowhere", names)), 0);
});

test("boxes of one depth fill their parent without overlap", () => {
  const root = buildTree(live().liveAt(2), makeNames(), {
    order: "callees",
    frames: "all",
    sign: 1,
  });
  const { boxes } = layoutTree(root, 1300, 0.5);
  const second = boxes.filter((b) => b.depth === 1).sort((a, b) => a.x - b.x);
  assert.equal(
    second.reduce((s, b) => s + b.width, 0),
    1300,
  );
  assert.equal(second[1].x, second[0].x + second[0].width);
});

function makeRows() {
  const cols = {
    frame: f(4, 2, 3),
    live: f(100, 5, 20),
    blocks: f(1, 1, 1),
    peak: f(100, 10, 20),
    at_peak: f(100, 10, 20),
    allocs: f(0, 2, 1),
    alloc_bytes: f(0, 15, 20),
    freed: f(0, 1, 0),
    median_life_us: f(0, 3, 0),
    tag: f(),
    tags: f(),
  };
  return sites.siteRows(cols, makeNames(), []);
}

test("rows of a range have the live bytes, growth and counts of that range", () => {
  const rows = sites.rowsInRange(makeRows(), live(), makeNames(), { from: 2, to: 4 });
  const a = rows.find((r) => r.frame === 2);
  assert.deepEqual([a.live, a.growth, a.allocs, a.peak], [5, -5, 1, 10]);
});

test("rows can be sorted, filtered and copied", () => {
  const names = makeNames();
  const rows = makeRows();
  assert.deepEqual(
    sites.sortRows(rows, "live", true).map((r) => r.live),
    [100, 20, 5],
  );
  assert.deepEqual(sites.sortRows(rows, "medianLifeUs", true).map((r) => r.frame)[0], 2);
  assert.deepEqual(
    sites.filterRows(rows, "train.py b", names).map((r) => r.frame),
    [3],
  );
  const text = sites.asMarkdown([{ ...rows[1], label: "a|b <c>" }]);
  assert.match(text, /\| a\\\|b \\<c\\> \| 5 B \|/);
  assert.equal(text.trim().split("\n").length, 3);
});

test("lines of two inputs are matched by name", () => {
  const [gone, a, b] = makeRows();
  const rows = diffRows([gone, a], [{ ...a, live: 50, peak: 60 }, b]);
  assert.deepEqual(
    rows.map((r) => [r.frame, r.live]),
    [
      [4, -100],
      [2, 45],
      [3, 20],
    ],
  );
  assert.equal(rows[0].after, null);
  assert.equal(rows[2].before, null);
});

test("the first rank to diverge is found", () => {
  const flat = f(10, 10, 10, 10, 10, 10);
  const map = (rows) => ({ bins: 6, rows, max: Math.max(...rows.flatMap((r) => [...r])) });
  assert.equal(ranks.firstDivergence(map([flat, flat, flat])), null);
  const found = ranks.firstDivergence(map([flat, flat, f(10, 10, 20, 30, 40, 50)]));
  assert.deepEqual([found.row, found.bin], [2, 2]);
  assert.equal(ranks.firstDivergence(map([flat, flat, f(10, 90, 10, 90, 10, 90)])), null);
  assert.equal(ranks.firstGap(map([flat, f(10, 10, 20, 20, 20, 20)])), 2);
  assert.deepEqual(ranks.withoutCommonEnds(["d/rank0.slog, device 0", "d/rank1.slog, device 0"]), [
    "rank0",
    "rank1",
  ]);
  assert.deepEqual(ranks.withoutCommonEnds(["same", "same"]), ["same", "same"]);
});

test("the heat map has three orders of rows, and colours from lowest to highest", () => {
  const map = ranks.heatMap(
    [{ max: f(5, 5) }, { max: f(9, 1) }, { max: f(5, 6) }, { max: f(5, 5) }],
    2,
  );
  assert.deepEqual([map.min, map.max], [1, 9]);
  assert.deepEqual(ranks.rowOrder(map, "named"), [0, 1, 2, 3]);
  assert.deepEqual(ranks.rowOrder(map, "peak"), [1, 2, 0, 3]);
  assert.deepEqual(ranks.rowOrder(map, "apart"), [1, 2, 0, 3]);
  const empty = ranks.heatMap([null, null], 2);
  assert.deepEqual([empty.min, empty.max], [0, 0]);
});

test("the same finding of several ranks is one card, with the largest first", () => {
  const finding = (lane, site, bytes, kind = "leak") => ({
    kind,
    subkind: null,
    severity: "warning",
    site,
    lane,
    bytes,
  });
  const groups = groupFindings([
    finding(0, 7, 10),
    finding(1, 7, 90),
    finding(0, 8, 1),
    finding(0, 7, 5),
    finding(2, 7, 20, "gap"),
  ]);
  assert.deepEqual(
    groups.map((g) => [g.lead.bytes, g.others.map((o) => o.bytes)]),
    [
      [90, [10]],
      [1, []],
      [5, []],
      [20, []],
    ],
  );
});

test("ranges are matched by name, inner ones first; open ones last to the end", () => {
  const names = makeNames();
  const marks = readMarks(
    {
      time: f(0, 1, 2, 3, 4, 5),
      kind: f(0, 0, 1, 3, 2, 0),
      name: f(3, 4, 4, 0, 5, 6),
      number: f(0, 0, 0, 7, 0, 0),
    },
    names,
    9,
  );
  assert.deepEqual(
    marks.ranges.map((r) => [r.name, r.from, r.to, r.depth]),
    [
      ["main", 0, 9, 0],
      ["call", 1, 2, 1],
      ["b", 5, 9, 1],
    ],
  );
  assert.deepEqual(marks.steps, [{ us: 3, number: 7 }]);
  assert.equal(marks.open, 2);
});

test("free space at the end of a segment counts as a gap", () => {
  const end = {
    seg_addr_high: f(0),
    seg_addr_low: f(0),
    seg_size: f(100),
    seg_stream: f(0),
    seg_pool: f(0),
    seg_flags: f(4),
    seg_blocks: f(2),
    offset: f(0, 30),
    size: f(10, 5),
    state: f(1, 2),
    stack: f(1, 1),
  };
  const [row] = segmentsAtEnd(end);
  assert.equal(row.largestGap, 65);
  assert.equal(row.pieces[1].state, "waiting");
  assert.deepEqual(totals([row]), {
    segments: 1,
    reserved: 100,
    used: 15,
    free: 85,
    largestGap: 65,
  });
});

test("names that are not UTF-8 are shown with replacement characters", () => {
  const names = new Names({
    text: f(0x61, 0xff, 0x62),
    length: f(3),
    frame_file: f(),
    frame_function: f(),
    frame_line: f(),
    frame_user: f(),
    stack_depth: f(),
    stack_frame: f(),
    stack_site: f(),
  });
  assert.equal(names.text(0), "a\ufffdb");
});

test("a counter keeps its last reading, and a column shows its highest", async () => {
  const { readingsOf } = await loadModel("model/readings.ts");
  const r = readingsOf(
    { series: f(0, 1, 0, 0), time: f(10, 10, 20, 30), value: f(5, 99, 8, 2) },
    0,
  );
  assert.deepEqual([r.at(9), r.at(10), r.at(25), r.at(99)], [null, 5, 8, 2]);
  assert.deepEqual(
    [r.highest(0, 9), r.highest(0, 15), r.highest(12, 40), r.highest(31, 40)],
    [NaN, 5, 8, 2],
  );
});
