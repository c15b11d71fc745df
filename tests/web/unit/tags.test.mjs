import assert from "node:assert/strict";
import { test } from "node:test";
import { loadModel } from "../load_model.mjs";

const { Names } = await loadModel("model/names.ts");
const { Blocks, endsInOrder } = await loadModel("model/blocks.ts");
const { groupsOfBlocks, isExact, rowsFromBlocks } = await loadModel("model/groups.ts");
const { buildTree } = await loadModel("model/tree.ts");
const sites = await loadModel("model/sites.ts");

const f = (...v) => Float64Array.from(v);
const TAGS = ["unknown", "parameter", "gradient"];

/** Stack 1: line a within module enc.0, which lies within enc; stack 2: line b alone. */
function makeNames() {
  const texts = ["", "/u/train.py", "<module>", "a", "b", "enc.0", "enc", "(stack not recorded)"];
  const encoded = texts.map((t) => new TextEncoder().encode(t));
  return new Names({
    text: Float64Array.from(encoded.flatMap((b) => [...b])),
    length: Float64Array.from(encoded, (b) => b.length),
    frame_file: f(1, 1, 2, 2, 0),
    frame_function: f(3, 4, 5, 6, 7),
    frame_line: f(1, 2, 0, 0, 0),
    frame_user: f(1, 1, 0, 0, 1),
    stack_depth: f(0, 3, 1),
    stack_frame: f(0, 2, 3, 1),
    stack_site: f(4, 0, 1),
  });
}

function makeBlocks() {
  return new Blocks({
    begin: f(0, 1, 2),
    time: f(0, 1, 2),
    life: f(9, 2, 7),
    life_us: f(9, 2, 7),
    size: f(100, 20, 3),
    slack: f(0, 0, 0),
    addr_high: f(0, 0, 0),
    addr_low: f(0, 1, 2),
    stack: f(2, 1, 1),
    flags: f(2, 0, 2),
    tag: f(1, 2, 0),
  });
}

const lane = (groups, more = {}) => ({
  groups,
  blocks_kept: 3,
  blocks_total: 3,
  stacks_kept: 2,
  stacks_total: 2,
  ...more,
});
const group = (label) => ({ label, frame: null });

function rows(kind, labels) {
  const blocks = makeBlocks();
  const of = groupsOfBlocks(blocks, lane({ [kind]: labels.map(group) }), makeNames(), TAGS, kind);
  return rowsFromBlocks(blocks, endsInOrder(blocks), of, labels.length, f(1, 2, 3)).map((r) => [
    ...r,
  ]);
}

test("blocks are split by tag", () => {
  assert.deepEqual(rows("tag", ["parameter", "gradient", "unknown"]), [
    [100, 100, 100],
    [20, 20, 0],
    [0, 3, 3],
  ]);
});

test("blocks are split by their innermost module", () => {
  assert.deepEqual(rows("module", ["outside any module", "enc.0"]), [
    [100, 100, 100],
    [20, 23, 3],
  ]);
});

test("blocks without a group of their own are in the last group", () => {
  assert.deepEqual(rows("tag", ["gradient", "everything else"]), [
    [20, 20, 0],
    [100, 103, 103],
  ]);
});

test("a split is exact only if all its blocks and stacks were kept", () => {
  assert.ok(isExact(lane({}), "tag") && isExact(lane({}), "module") && isExact(lane({}), "line"));
  assert.ok(!isExact(lane({}), "stream"));
  assert.ok(!isExact(lane({}, { blocks_kept: 2 }), "tag"));
  assert.ok(
    !isExact(lane({}, { stacks_kept: 1 }), "module") &&
      isExact(lane({}, { stacks_kept: 1 }), "tag"),
  );
});

test("a module frame is labelled as a module, and shown only when asked for", () => {
  const names = makeNames();
  assert.equal(names.moduleOf(1), "enc.0");
  assert.equal(names.moduleOf(2), null);
  assert.equal(names.label(2), "module enc.0");
  const tree = (frames) =>
    buildTree({ bytes: f(0, 5, 0), blocks: f(0, 1, 0) }, names, {
      order: "callees",
      frames,
      sign: 1,
    });
  const path = (node) =>
    [...node.children.values()].flatMap((c) => [names.label(c.frame), ...path(c)]);
  assert.deepEqual(path(tree("module")), ["module enc", "module enc.0"]);
  assert.deepEqual(path(tree("user")), ["train.py:1 a"]);
});

test("lines have tags if the input has them", () => {
  const cols = {
    frame: f(0, 1),
    live: f(1, 2),
    blocks: f(1, 1),
    peak: f(1, 2),
    at_peak: f(1, 2),
    allocs: f(1, 1),
    alloc_bytes: f(1, 2),
    freed: f(0, 0),
    median_life_us: f(0, 0),
    tag: f(2, 1),
    tags: f(0b111, 0b10),
  };
  const tagged = sites.siteRows(cols, makeNames(), TAGS);
  const [a, b] = tagged;
  assert.deepEqual([a.tag, a.tags, b.tag, b.tags], ["gradient", TAGS, "parameter", ["parameter"]]);
  assert.deepEqual(sites.filterRows(tagged, "", makeNames(), "parameter"), [a, b]);
  assert.deepEqual(sites.filterRows(tagged, "", makeNames(), "gradient"), [a]);
  assert.deepEqual(
    sites.sortRows(tagged, "tag", true).map((r) => r.tag),
    ["parameter", "gradient"],
  );
  assert.match(sites.asMarkdown(tagged), /^\| Line \| Tag \| Live[\s\S]*\| gradient and 2 more \|/);
  const plain = sites.siteRows({ ...cols, tag: f(), tags: f() }, makeNames(), TAGS);
  assert.deepEqual([plain[0].tag, plain[0].tags], [null, []]);
  assert.match(sites.asMarkdown(plain), /^\| Line \| Live/);
});

test("blocks can be searched by tag", () => {
  assert.deepEqual([...makeBlocks().search("gradient", makeNames(), TAGS)], [0, 1, 0]);
  assert.deepEqual([...makeBlocks().search("enc.0", makeNames(), TAGS)], [0, 1, 1]);
});
