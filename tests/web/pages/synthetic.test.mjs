// Runs that no file of the test data holds: with tags and modules, of ten million events, of
// hundreds of ranks.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { ROOT, axeProblems, openBrowser, openPage, tabsOf } from "../browser.mjs";
import { OUT, makeReport } from "../report.mjs";

const MAKE_PAGE = process.env.STORMLOG_MAKE_PAGE ?? path.join(ROOT, "build/tests/web/make_page");
let browser;
before(async () => {
  browser = await openBrowser();
});
after(async () => {
  await browser.close();
});

function makeRun(name, events) {
  const file = path.join(OUT, `${name}.html`);
  const run = spawnSync(MAKE_PAGE, [String(events), file], { encoding: "utf8" });
  assert.equal(run.status, 0, run.stderr);
  return { file, made: JSON.parse(run.stdout) };
}

async function walkViews(page, name, tabs = null) {
  for (const tab of tabs ?? (await tabsOf(page))) {
    await page.click(`#tab-${tab}`);
    const text = await page.locator(`#panel-${tab}`).innerText();
    assert.ok(text.trim().length > 20, `${tab} is blank`);
    assert.doesNotMatch(text, /could not be drawn|NaN|undefined|Infinity/, tab);
  }
  await page.screenshot({ path: path.join(OUT, `${name}.png`), fullPage: true });
}

const UNITS = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** "activation 1.50 MiB, parameter 3 MiB" as numbers. */
function partsOf(readout) {
  const [, list] = readout.split(" — ");
  return Object.fromEntries(
    [...list.matchAll(/([^,]+?) ([\d.]+) (B|KiB|MiB|GiB)(?:, |$)/g)].map((m) => [
      m[1],
      Number(m[2]) * UNITS[m[3]],
    ]),
  );
}

async function hoverTimeline(page, fraction) {
  await page.locator("section .plot .u-over").first().scrollIntoViewIfNeeded();
  const box = await page.locator("section .plot .u-over").first().boundingBox();
  await page.mouse.move(box.x + box.width * fraction, box.y + 30);
  await page.waitForFunction(() =>
    document.querySelector("#timeline-readout").textContent.includes(" — "),
  );
  return page.locator("#timeline-readout").innerText();
}

async function stackBy(page, name, expected) {
  await page.locator("section").getByText(name, { exact: true }).click();
  const legend = await page.locator(".legend").first().innerText();
  assert.ok(legend.includes(expected), `${expected} is not in ${legend}`);
}

const highest = (readout) =>
  Number(/(?:live|at most) [^(]*\(?(?:at most )?([\d,]+) B\)/.exec(readout)[1].replaceAll(",", ""));

test("tags and modules are in the curve, the table, the hover and the flame graph", async () => {
  const { file } = makeRun("synthetic-tags", 100_000);
  const { page, troubles } = await openPage(browser.context, file);
  await stackBy(page, "By tag", "optimizer state");
  const readout = await hoverTimeline(page, 0.6);
  const parts = partsOf(readout);
  assert.ok(Math.abs(parts.parameter - 144 * 8 * 2 ** 20) < 2 ** 23, `parameters in ${readout}`);
  const sum = Object.values(parts).reduce((a, b) => a + b, 0);
  assert.ok(Math.abs(sum - highest(readout)) < 0.01 * sum, `${sum} is not the total of ${readout}`);
  await page.screenshot({ path: path.join(OUT, "synthetic-by-tag.png"), fullPage: true });
  await stackBy(page, "By module", "encoder.layers.");
  assert.match(await page.locator(".legend").first().innerText(), /\d+ more, the largest/);

  await page.click("#tab-sites");
  assert.match(await page.locator("#panel-sites thead").innerText(), /Line\s+Tag\s+Live/);
  assert.doesNotMatch(
    await page.locator("#panel-sites tbody").innerText(),
    /<module>|module encoder/,
  );
  await page.locator("#panel-sites select").selectOption("gradient");
  const shown = await page.locator("#panel-sites tbody tr").allInnerTexts();
  assert.equal(shown.length, 48);
  assert.ok(
    shown.every((row) => row.includes("gradient")),
    shown[0],
  );

  await page.click("#tab-blocks");
  await page.locator("#panel-blocks input[type=search]").fill("parameter");
  await page.waitForFunction(
    () => document.querySelector("#panel-blocks .tools .sub").textContent === "144 blocks match",
  );
  await page.locator("#panel-blocks .plot .u-over").scrollIntoViewIfNeeded();
  const box = await page.locator("#panel-blocks .plot .u-over").boundingBox();
  await page.mouse.move(box.x + box.width * 0.5, box.y + box.height * 0.8);
  await page.waitForFunction(() =>
    /Tag\s*parameter[\s\S]*Module\s*encoder\.layers\.\d+/.test(
      document.querySelector(".detail").innerText,
    ),
  );

  await page.click("#tab-flame");
  await page.getByText("Modules", { exact: true }).click();
  await page.getByText("The heaviest path as a list").click();
  await page.waitForFunction(() =>
    /^module encoder\.layers\.\d+ /.test(
      document.querySelector("#panel-flame details ol")?.innerText ?? "",
    ),
  );
  await walkViews(page, "synthetic-tags");
  await page.close();
  assert.deepEqual(troubles, []);
});

test("ten million events give a page of at most 8 MB with every view", async () => {
  const { file, made } = makeRun("synthetic-10m", 10_000_000);
  assert.ok(made.events >= 10_000_000);
  assert.ok(statSync(file).size <= 8e6, `${statSync(file).size} bytes`);
  const { page, troubles } = await openPage(browser.context, file);
  assert.equal(Number(await page.locator("#tile-events").getAttribute("data-value")), made.events);
  await stackBy(page, "By tag", "parameter");
  const readout = await hoverTimeline(page, 0.5);
  assert.ok(Math.abs(partsOf(readout).parameter - 144 * 8 * 2 ** 20) < 2 ** 23, readout);
  await walkViews(page, "synthetic-10m");
  await page.close();
  assert.deepEqual(troubles, []);
});

for (const [scheme, width] of [
  ["light", 1280],
  ["dark", 390],
])
  test(`stacked views, ranks and differences are accessible: ${scheme}, ${width}`, async () => {
    const own = await openBrowser({
      viewport: { width, height: 900 },
      colorScheme: scheme,
      bypassCSP: true,
    });
    const h200 = ["s4_fixed", "s2_retention"].map((n) =>
      path.join(ROOT, "tests/data/h200", `${n}.pickle.gz`),
    );
    try {
      for (const [name, file, views] of [
        ["tags", makeRun("synthetic-tags", 100_000).file, ["sites", "flame"]],
        ["diff", makeReport("synthetic-diff", h200, "--diff").file, ["diff", "ranks"]],
      ]) {
        const { page, troubles } = await openPage(own.context, file);
        if (name === "tags") await stackBy(page, "By tag", "parameter");
        for (const tab of views) {
          await page.click(`#tab-${tab}`);
          await page.screenshot({
            path: path.join(OUT, `synthetic-${name}-${tab}-${scheme}-${width}.png`),
            fullPage: true,
          });
          const problems = await axeProblems(page);
          assert.deepEqual(problems, [], `${name}, ${tab}`);
          assert.ok(
            await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
            `${name}, ${tab} is wider than the screen`,
          );
        }
        await page.close();
        assert.deepEqual(troubles, []);
      }
    } finally {
      await own.close();
    }
  });

test("512 ranks have a heat map that scrolls, three orders, one card per finding", async () => {
  const folder = path.join(OUT, "ranks");
  const made = spawnSync("python3", [path.join(ROOT, "tests/web/make_inputs.py"), folder, "512"], {
    encoding: "utf8",
  });
  assert.equal(made.status, 0, made.stderr);
  const { file } = makeReport(
    "synthetic-ranks",
    readdirSync(folder)
      .sort()
      .map((n) => path.join(folder, n)),
  );
  const { page, troubles } = await openPage(browser.context, file);
  assert.match(await page.locator("h1").innerText(), /^512 inputs: .*rank000.* to .*rank511/);
  const cards = await page.locator(".card").count();
  assert.ok(cards >= 1 && cards <= 12, `${cards} cards`);
  await page.click("#tab-ranks");
  assert.match(await page.locator("#panel-ranks").innerText(), /First rank to diverge: .*rank137/);
  const map = await page.evaluate(() => {
    const box = document.querySelector("#panel-ranks .map");
    return {
      shown: box.clientHeight,
      whole: box.scrollHeight,
      wide: document.documentElement.scrollWidth <= innerWidth,
    };
  });
  assert.ok(map.shown <= 640 && map.whole >= 512 * 3 && map.wide, JSON.stringify(map));
  assert.equal(await page.locator("#panel-ranks tbody tr").count(), 40);
  await page.getByText("Farthest from the median first").click();
  await page.waitForFunction(() =>
    document.querySelector("#panel-ranks tbody tr").innerText.includes("rank137"),
  );
  await page.locator("canvas.heat").click({ position: { x: 600, y: 1 } });
  await page.waitForFunction(() =>
    document.querySelector("header select").selectedOptions[0].textContent.includes("rank137"),
  );
  await page.getByRole("button", { name: "Show all 512" }).click();
  assert.equal(await page.locator("#panel-ranks tbody tr").count(), 512);
  await page.getByText("As named").click();
  await page.screenshot({ path: path.join(OUT, "synthetic-ranks.png"), fullPage: true });
  await page.close();
  assert.deepEqual(troubles, []);
});
