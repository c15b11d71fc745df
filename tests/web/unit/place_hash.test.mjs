// What the address of a page says, and what it may say.
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadModel } from "../load_model.mjs";

const { placeOfHash, placeToHash } = await loadModel("model/place_hash.ts");

test("a place comes back as it was, whatever is in its words", () => {
  const place = { lane: 3, view: "flame", axis: "event", by: "line", from: 0, to: 9, at: -1 };
  assert.deepEqual(placeOfHash(`#${placeToHash(place)}`), place);
  const words = { find: "a&b=c #é%25 <script>" };
  assert.deepEqual(placeOfHash(placeToHash(words)), words);
});

test("nothing to say is an empty address", () => {
  assert.equal(placeToHash({}), "");
  assert.deepEqual(placeOfHash(""), {});
});

test("what is not understood is left out", () => {
  assert.deepEqual(placeOfHash("#lane=x&from=1.5&to=1e9&at=99999999999999999999&view=&y=1"), {});
});
