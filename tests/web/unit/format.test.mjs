import assert from "node:assert/strict";
import { test } from "node:test";
import { loadModel } from "../load_model.mjs";

const fmt = await loadModel("model/format.ts");

const rows = (work, cases) => {
  for (const [input, text] of cases) assert.equal(work(input), text);
};

test("bytes are formatted as on the command line", () =>
  rows(fmt.bytes, [
    [0, "0 B"],
    [1023, "1023 B"],
    [1024, "1.00 KiB"],
    [20000000, "19.1 MiB"],
    [1048051, "1023 KiB"],
    [1048100, "1.00 MiB"],
    [161061273600, "150 GiB"],
    [-512, "-512 B"],
    [547328, "534 KiB"],
    [548352, "536 KiB"],
    [1152, "1.12 KiB"],
    [null, "not known"],
  ]));

test("differences have a sign", () =>
  rows(fmt.delta, [
    [0, "0 B"],
    [2048, "+2.00 KiB"],
    [-2048, "-2.00 KiB"],
  ]));

test("durations have the unit that fits", () =>
  rows(fmt.duration, [
    [0, "0 µs"],
    [850, "850 µs"],
    [1250000, "1.25 s"],
    [200e6, "3 min 20 s"],
    [7320e6, "2 h 02 min"],
    [532800e6, "6 d 4 h"],
  ]));

test("counts are grouped by thousands", () =>
  rows(fmt.count, [
    [0, "0"],
    [999, "999"],
    [1000, "1,000"],
    [1234567, "1,234,567"],
  ]));

test("addresses keep all 64 bits", () => {
  assert.equal(fmt.address(0x7f12, 0x3400), "0x7f1200003400");
  assert.equal(fmt.address(0xffffffff, 0xfffffe00), "0xfffffffffffffe00");
  assert.equal(fmt.address(0, 0x200), "0x200");
});

test("paths are shortened to the base name, or to it and its folder", () => {
  assert.equal(fmt.baseName("/a/b/train.py"), "train.py");
  assert.equal(fmt.shortPath("/a/b/train.py"), "b/train.py");
  assert.equal(fmt.shortPath("train.py"), "train.py");
});
