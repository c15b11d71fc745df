// The pages of tests/data/h200 in Debian's Firefox, driven over WebDriver BiDi: main figures, every
// view, selecting and hovering, no complaint, no request. Run by `make check-firefox`; starting
// Firefox alone takes longer than most tests.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { ROOT } from "./browser.mjs";
import { OUT, analyze, data, makeReport } from "./report.mjs";

const FIREFOX = process.env.FIREFOX ?? "/usr/bin/firefox-esr";
const TABS = ["flame", "sites", "segments", "about", "blocks"];
const CASES = readdirSync(data("h200"))
  .filter((n) => n.endsWith(".pickle.gz"))
  .map((n) => n.split(".")[0]);
const reason = existsSync(FIREFOX) ? false : `${FIREFOX} is not installed`;
const SHOTS = path.join(OUT, "firefox");
mkdirSync(SHOTS, { recursive: true });

let browser;
before(async () => {
  if (reason) return;
  const playwright = createRequire(path.join(ROOT, "web/package.json"))("playwright-core");
  browser = await playwright._bidiFirefox.launch({ executablePath: FIREFOX, headless: true });
});
after(async () => {
  await browser?.close();
});

async function openPage(file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const url = pathToFileURL(file).href;
  const troubles = [];
  page.on("console", (m) => {
    if (["error", "warning"].includes(m.type())) troubles.push(`console: ${m.text()}`);
  });
  page.on("request", (r) => {
    if (r.url() !== url && !r.url().startsWith("data:")) troubles.push(`request: ${r.url()}`);
  });
  // Exceptions and what the policy forbids are not reported over BiDi, so the page records them.
  await page.addInitScript(() => {
    window.troubles = [];
    addEventListener(
      "error",
      (e) =>
        window.troubles.push(
          e.message === undefined ? `cannot load ${e.target.src}` : `exception: ${e.message}`,
        ),
      true,
    );
    addEventListener("unhandledrejection", (e) => window.troubles.push(`rejection: ${e.reason}`));
    addEventListener("securitypolicyviolation", (e) =>
      window.troubles.push(`against the policy: ${e.blockedURI}`),
    );
  });
  await page.goto(url);
  await page.waitForSelector("html[data-ready]", { timeout: 30000 });
  // The picture comes last: to take it, the driver adds a style of its own, which the page's policy
  // refuses.
  const complaints = async (picture) => {
    const inside = await page.evaluate(() => [
      ...window.troubles,
      ...performance
        .getEntriesByType("resource")
        .map((e) => e.name)
        .filter((n) => !n.startsWith("data:"))
        .map((n) => `request: ${n}`),
    ]);
    const all = [...troubles, ...inside];
    if (picture) await page.screenshot({ path: path.join(SHOTS, picture), fullPage: true });
    await context.close();
    return all;
  };
  return { page, complaints };
}

test("Firefox reports errors and requests of a page", { skip: reason }, async () => {
  const file = path.join(SHOTS, "complaints.html");
  writeFileSync(
    file,
    '<!doctype html><html data-ready><script>console.error("one"); ' +
      'setTimeout(() => { throw new Error("two"); });</script><img src="missing.png">',
  );
  const { page, complaints } = await openPage(file);
  await page.waitForTimeout(500);
  const said = (await complaints()).join("\n");
  for (const expected of ["console: one", "two", "missing.png"])
    assert.ok(said.includes(expected), `${expected} is not in ${said}`);
});

const value = async (page, selector) => {
  const text = await page.locator(selector).first().getAttribute("data-value");
  return text === null ? null : Number(text);
};

/** Whether anything but one colour was drawn. */
const isDrawn = (page, selector) =>
  page.evaluate((s) => {
    const canvas = document.querySelector(s);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const pixels = new Set(new Uint32Array(data.buffer));
    return pixels.size > 3;
  }, selector);

for (const name of CASES)
  test(`Firefox shows ${name}`, { skip: reason }, async () => {
    const { file } = makeReport(`firefox-${name}`, [data("h200", `${name}.pickle.gz`)]);
    const report = analyze(data("h200", `${name}.pickle.gz`));
    const { page, complaints } = await openPage(file);
    const [device] = report.devices;
    assert.equal(await value(page, "#tile-peak"), device.peak_requested_bytes, "peak");
    assert.equal(await value(page, "#tile-live"), device.live_requested_bytes, "live");
    assert.equal(await value(page, "#tile-reserved"), device.reserved_bytes, "reserved");
    assert.equal(await page.locator(".card").count(), report.findings.length, "findings");
    for (const tab of TABS) {
      await page.click(`#tab-${tab}`);
      const text = await page.locator(`#panel-${tab}`).innerText();
      assert.ok(text.trim().length > 20, `${tab} is blank`);
      assert.doesNotMatch(text, /could not be drawn|NaN|undefined|Infinity/, tab);
    }
    assert.equal(
      await value(page, "#flame-what"),
      device.peak_requested_bytes,
      "flame graph at the peak",
    );
    assert.ok(await isDrawn(page, "section .plot canvas"), "the timeline is empty");
    assert.ok(await isDrawn(page, "#panel-blocks .plot canvas"), "the blocks are empty");
    assert.deepEqual(await complaints(`${name}.png`), []);
  });

test(
  "Firefox: dragging selects, keys reset, hovering names a block, also narrow and dark",
  { skip: reason },
  async () => {
    const { file } = makeReport("firefox-use", [data("h200", "s2_retention.pickle.gz")]);
    const { page, complaints } = await openPage(file, {
      viewport: { width: 390, height: 900 },
      colorScheme: "dark",
    });
    assert.ok(
      await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
      "wider than the screen",
    );
    const over = page.locator("section .plot .u-over").first();
    await over.scrollIntoViewIfNeeded();
    const box = await over.boundingBox();
    await page.mouse.move(box.x + box.width * 0.3, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 40, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction(() =>
      document.querySelector(".range").textContent.includes("selected"),
    );
    await page.locator("section .plot").first().focus();
    await page.keyboard.press("0");
    await page.waitForFunction(() =>
      document.querySelector(".range").textContent.startsWith("Whole run"),
    );
    const blocks = page.locator("#panel-blocks .plot .u-over");
    await blocks.scrollIntoViewIfNeeded();
    const area = await blocks.boundingBox();
    await page.mouse.move(area.x + area.width * 0.9, area.y + area.height * 0.6, { steps: 2 });
    await page.waitForFunction(() =>
      /0x[0-9a-f]{8}/.test(document.querySelector(".detail").textContent),
    );
    assert.deepEqual(await complaints("narrow-dark.png"), []);
  },
);
