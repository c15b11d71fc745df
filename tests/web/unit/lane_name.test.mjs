import assert from "node:assert/strict";
import { test } from "node:test";
import { loadModel } from "../load_model.mjs";

const { laneName } = await loadModel("model/lane_name.ts");

const lanes = [
  { input: 0, device: 0, rank: null },
  { input: 0, device: 0, rank: 2 },
  { input: 0, device: -1, rank: 0 },
];

test("with several ranks, a lane is named after its rank", () => {
  const meta = { inputs: [{ path: "/runs/a.json" }], lanes };
  assert.deepEqual(
    lanes.map((_, i) => laneName(meta, i)),
    ["device 0", "rank 2, device 0", "rank 0, host"],
  );
});
