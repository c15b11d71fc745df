// What the address of a page says, and what it may say.
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadModel } from "../load_model.mjs";

const { placeOfHash, placeToHash } = await loadModel("model/place_hash.ts");

test("a selection is restored unchanged from the address, whatever its names contain", () => {
  const place = { lane: 3, view: "flame", axis: "event", by: "line", from: 0, to: 9, at: -1 };
  assert.deepEqual(placeOfHash(`#${placeToHash(place)}`), place);
  const words = { find: "a&b=c #é%25 <script>" };
  assert.deepEqual(placeOfHash(placeToHash(words)), words);
});

test("an empty selection has an empty address", () => {
  assert.equal(placeToHash({}), "");
  assert.deepEqual(placeOfHash(""), {});
});

test("invalid parts of an address are ignored", () => {
  assert.deepEqual(placeOfHash("#lane=x&from=1.5&to=1e9&at=99999999999999999999&view=&y=1"), {});
});
