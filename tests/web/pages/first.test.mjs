// The first drawing of every picture happens at once, in the task that shows it: on a busy machine
// the next frame may come late, and a screenshot may be taken before it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { after, before, test } from "node:test";
import { CHROMIUM, FLAGS, openBrowser, openPage } from "../browser.mjs";
import { OUT, data, makeReport } from "../report.mjs";

const LIVE = "#2f66b3"; // --live of the light theme
const h200 = (name) => data("h200", `${name}.pickle.gz`);
let browser;
before(async () => {
  browser = await openBrowser();
});
after(async () => {
  await browser.close();
});

/** In the page, before its own script: frames never come, sizes are never reported. */
function withoutFrames() {
  window.requestAnimationFrame = () => 0;
  window.ResizeObserver = class {
    observe() {}
    unobserve() {}
    disconnect() {}
  };
  /** Pixels of a canvas in which something was drawn. */
  window.drawnPixels = (selector) => {
    const canvas = document.querySelector(selector);
    if (!canvas || canvas.width === 0) return 0;
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Uint32Array(data.buffer).reduce((n, pixel) => n + (pixel >>> 24 > 0 ? 1 : 0), 0);
  };
}

const CANVASES = {
  blocks: "#panel-blocks .plot canvas",
  flame: "canvas.flame",
  segments: "canvas.segments",
  ranks: "canvas.heat",
};

test("every canvas is drawn without waiting for a frame or a resize event", async () => {
  const { file } = makeReport("first-two", [h200("s4_fixed"), h200("s2_retention")]);
  const { page, troubles } = await openPage(browser.context, file, withoutFrames);
  const pixels = (selector) => page.evaluate((s) => window.drawnPixels(s), selector);
  const timeline = await pixels("section .plot canvas");
  assert.ok(timeline > 20_000, `timeline: ${timeline} pixels`);
  for (const [tab, selector] of Object.entries(CANVASES)) {
    // The click's own task, and what it resolves, must be enough: the next message asks for the
    // pixels.
    const drawn = await page.evaluate(
      async ([id, canvas]) => {
        document.getElementById(`tab-${id}`).click();
        for (let i = 0; i < 100; i++) await null; // microtasks: no other task comes between
        return window.drawnPixels(canvas);
      },
      [tab, selector],
    );
    assert.ok(drawn > 5_000, `${tab}: ${drawn} pixels in the task of the click`);
  }
  await page.close();
  assert.deepEqual(troubles, []);
});

test("another lane is drawn at once when it is selected", async () => {
  const { file } = makeReport("first-two", [h200("s4_fixed"), h200("s2_retention")]);
  const { page, troubles } = await openPage(browser.context, file, withoutFrames);
  const drawn = await page.evaluate(async () => {
    const box = document.querySelector("header .field select");
    box.value = box.value === "0" ? "1" : "0";
    box.dispatchEvent(new Event("change"));
    for (let i = 0; i < 100; i++) await null;
    return [
      window.drawnPixels("section .plot canvas"),
      window.drawnPixels("#panel-blocks .plot canvas"),
    ];
  });
  assert.ok(Math.min(...drawn) > 5_000, `timeline and blocks: ${drawn} pixels`);
  await page.close();
  assert.deepEqual(troubles, []);
});

test("the pictures follow a later change of the width", async () => {
  const { file } = makeReport("first-one", [h200("s2_retention")]);
  const { page, troubles } = await openPage(browser.context, file);
  const width = () => page.evaluate(() => document.querySelector(".plot canvas").clientWidth);
  const wide = await width();
  await page.setViewportSize({ width: 700, height: 900 });
  await page.waitForFunction(
    (old) => document.querySelector(".plot canvas").clientWidth < old - 300,
    wide,
  );
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await page.close();
  assert.deepEqual(troubles, []);
});

/** How many pixels of a picture have a colour. */
async function pixelsOf(png, color) {
  const page = await browser.context.newPage();
  const url = `data:image/png;base64,${readFileSync(png).toString("base64")}`;
  const cnt = await page.evaluate(
    async ([source, hex]) => {
      const image = new Image();
      image.src = source;
      await image.decode();
      const canvas = document.createElement("canvas");
      canvas.width = image.width;
      canvas.height = image.height;
      const context = canvas.getContext("2d");
      context.drawImage(image, 0, 0);
      const { data } = context.getImageData(0, 0, image.width, image.height);
      const n = parseInt(hex.slice(1), 16);
      const wanted = (0xff000000 | ((n & 255) << 16) | (n & 0xff00) | (n >> 16)) >>> 0;
      return new Uint32Array(data.buffer).reduce((sum, pixel) => sum + (pixel === wanted), 0);
    },
    [url, color],
  );
  await page.close();
  return cnt;
}

test("chromium --headless --screenshot shows the curve", async () => {
  const { file } = makeReport("first-one", [h200("s2_retention")]);
  const profile = mkdtempSync(path.join(tmpdir(), "stormlog-shot-"));
  const shot = path.join(OUT, "first-screenshot.png");
  rmSync(shot, { force: true });
  const run = spawnSync(
    CHROMIUM,
    [
      ...FLAGS,
      `--user-data-dir=${profile}`,
      "--window-size=1280,1700",
      "--force-device-scale-factor=1",
      `--screenshot=${shot}`,
      pathToFileURL(file).href,
    ],
    { encoding: "utf8" },
  );
  rmSync(profile, { recursive: true, force: true });
  assert.equal(run.status, 0, run.stderr);
  const cnt = await pixelsOf(shot, LIVE);
  // A curve of 1,060 columns, at least two pixels high; the legend's mark alone has 140.
  assert.ok(cnt > 1_500, `${cnt} pixels of the curve's colour`);
});
