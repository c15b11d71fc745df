import assert from "node:assert/strict";
import { test } from "node:test";
import zlib from "node:zlib";
import { loadModel } from "../load_model.mjs";

const { decodePlain, decodeDelta, fromBase64, inflate, PageError } =
  await loadModel("model/decode.ts");
const { PageData } = await loadModel("model/data.ts");

function varint(value) {
  const out = [];
  let n = BigInt(value);
  do {
    out.push(Number(n & 0x7fn) | (n > 0x7fn ? 0x80 : 0));
    n >>= 7n;
  } while (n > 0n);
  return out;
}

test("plain columns are exact up to 2^53", () => {
  const values = [0, 1, 127, 128, 16383, 16384, 2 ** 32, 2 ** 53 - 1];
  const bytes = Uint8Array.from(values.flatMap(varint));
  assert.deepEqual([...decodePlain(bytes, values.length)], values);
});

test("delta columns can decrease as well as increase", () => {
  // 5, 3, 3, -1 as zigzag differences 5, -2, 0, -4
  assert.deepEqual([...decodeDelta(Uint8Array.from([10, 3, 0, 7]), 4)], [5, 3, 3, -1]);
});

test("a column with bytes left over is refused", () => {
  assert.throws(() => decodePlain(Uint8Array.from([1, 2]), 1), PageError);
});

test("base64 and deflate decode what C encodes; a flipped bit is an error", () => {
  const raw = Buffer.from("columns ".repeat(50));
  const packed = fromBase64(zlib.deflateSync(raw).toString("base64"));
  assert.deepEqual(Buffer.from(inflate(packed, raw.length)), raw);
  packed[packed.length - 1] ^= 1;
  assert.throws(() => inflate(packed, raw.length), /checksum/);
});

function page(sections, texts, schema = "stormlog.page/1") {
  return new PageData(JSON.stringify({ schema, sections }), (id) => texts[id] ?? null);
}

test("a section is decoded on demand; a missing one is empty or null", async () => {
  const data = page(
    { "heat-0": { deflate: false, bytes: 2, columns: { max: [0, 2, 2] } } },
    { "heat-0": Buffer.from([2, 4]).toString("base64") },
  );
  assert.deepEqual([...(await data.section("heat", 0)).max], [1, 3]);
  assert.equal(await data.section("heat", 1), null);
});

test("a section that was cut short is an error", async () => {
  const data = page({ "heat-0": { deflate: false, bytes: 9, columns: {} } }, { "heat-0": "AAAA" });
  await assert.rejects(
    data.section("heat", 0),
    /section heat-0 is damaged: it should hold 9 bytes and holds 3/,
  );
});

test("data of another version is refused, and the error names both versions", () => {
  assert.throws(() => page({}, {}, "stormlog.page/99"), /stormlog\.page\/1.*stormlog\.page\/99/);
});
