import assert from "node:assert/strict";
import { test } from "node:test";
import { loadModel } from "../load_model.mjs";

const model = await loadModel("model/blocks.ts");
const {
  Blocks,
  CELL_EMPTY,
  CELL_REST,
  addressPicture,
  compactAddresses,
  endsInOrder,
  sizeMatches,
  stackPicture,
} = model;

const f = (...v) => Float64Array.from(v);

/** [begin, end or null, size, address, stack] */
function makeBlocks(rows, last = 10) {
  const col = (work) => Float64Array.from(rows, work);
  return new Blocks({
    begin: col((r) => r[0]),
    time: col((r) => Math.max(0, r[0])),
    life: col((r) => (r[1] ?? last) - r[0]),
    life_us: col((r) => (r[1] ?? last) - r[0]),
    size: col((r) => r[2]),
    slack: col(() => 0),
    addr_high: col(() => 0x7f),
    addr_low: col((r) => r[3]),
    stack: col((r) => r[4] ?? 0),
    flags: col((r) => (r[0] < 0 ? 1 : 0) | (r[1] === null ? 2 : 0)),
    tag: f(),
  });
}

const column = (p, x) =>
  Array.from({ length: p.height }, (_, row) => p.cells[(p.height - 1 - row) * p.width + x]);

test("blocks are stacked by age, those above a freed one move down, the rest is on top", () => {
  const blocks = makeBlocks([
    [-1, null, 1, 0],
    [0, 2, 2, 16],
    [1, null, 1, 32],
  ]);
  const picture = stackPicture(blocks, endsInOrder(blocks), {
    width: 3,
    height: 6,
    top: 6,
    at: f(0, 1, 2),
    total: f(3, 5, 2),
  });
  assert.deepEqual(column(picture, 0), [0, 1, 1, CELL_EMPTY, CELL_EMPTY, CELL_EMPTY]);
  assert.deepEqual(column(picture, 1), [0, 1, 1, 2, CELL_REST, CELL_EMPTY]);
  assert.deepEqual(column(picture, 2), [0, 2, CELL_EMPTY, CELL_EMPTY, CELL_EMPTY, CELL_EMPTY]);
});

test("a picture that starts in the middle of the run shows what is live there", () => {
  const blocks = makeBlocks([
    [0, 3, 1, 0],
    [1, null, 2, 16],
    [4, 5, 1, 32],
  ]);
  const picture = stackPicture(blocks, endsInOrder(blocks), {
    width: 2,
    height: 4,
    top: 4,
    at: f(4, 7),
    total: f(3, 2),
  });
  assert.deepEqual(column(picture, 0), [1, 1, 2, CELL_EMPTY]);
  assert.deepEqual(column(picture, 1), [1, 1, CELL_EMPTY, CELL_EMPTY]);
});

test("every column shows exactly the blocks that are live there", () => {
  let seed = 7;
  const random = (n) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % n;
  };
  const rows = [];
  for (let i = 0; i < 300; i++)
    rows.push([i, random(4) === 0 ? null : i + 1 + random(60), 1 + random(3), i * 16]);
  const blocks = makeBlocks(rows, 400);
  const at = Float64Array.from({ length: 40 }, (_, i) => i * 7);
  const sums = at.map((e) => rows.reduce((s, r, i) => s + (blocks.isLive(i, e) ? r[2] : 0), 0));
  const height = Math.max(...sums);
  const picture = stackPicture(blocks, endsInOrder(blocks), {
    width: 40,
    height,
    top: height,
    at,
    total: sums,
  });
  for (let x = 0; x < 40; x++) {
    const drawn = column(picture, x).filter((c) => c >= 0);
    const expected = rows.flatMap((r, i) => (blocks.isLive(i, at[x]) ? Array(r[2]).fill(i) : []));
    assert.deepEqual(drawn, expected, `column ${x}`);
  }
});

test("by address, gaps between segments are removed and gaps inside them kept", () => {
  const blocks = makeBlocks([
    [0, null, 4, 100],
    [0, null, 4, 104],
    [0, null, 2, 1002],
  ]);
  const segments = { size: f(8, 4), addr_high: f(0x7f, 0x7f), addr_low: f(100, 1000) };
  const map = compactAddresses(blocks, segments);
  assert.equal(map.total, 12);
  assert.deepEqual([...map.offset], [0, 4, 10]);
  const picture = addressPicture(blocks, map, {
    width: 1,
    height: 12,
    top: 12,
    at: f(5),
    total: f(10),
  });
  assert.deepEqual(column(picture, 0), [0, 0, 0, 0, 1, 1, 1, 1, CELL_EMPTY, CELL_EMPTY, 2, 2]);
});

test("blocks can be searched by size", () => {
  assert.ok(
    sizeMatches("512", 512) &&
      sizeMatches(">20m", 21 * 2 ** 20) &&
      sizeMatches("<4k", 100) &&
      sizeMatches("1.5mib", 1.5 * 2 ** 20),
  );
  assert.ok(
    !sizeMatches("512", 513) && !sizeMatches("train", 5) && !sizeMatches(">20m", 20 * 2 ** 20),
  );
});
