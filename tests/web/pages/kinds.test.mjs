// Pages of the other kinds of input: telemetry samples, a recorded run, several ranks of either.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { ROOT, openBrowser, openPage, tabsOf } from "../browser.mjs";
import { OUT, analyze, data, makeReport, stormlog } from "../report.mjs";

let browser;
before(async () => {
  browser = await openBrowser();
});
after(async () => {
  await browser.close();
});

async function walk(name, inputs) {
  const { file } = makeReport(`kind-${name}`, inputs);
  const { page, troubles } = await openPage(browser.context, file);
  for (const tab of await tabsOf(page)) {
    await page.click(`#tab-${tab}`);
    const text = await page.locator(`#panel-${tab}`).innerText();
    assert.ok(text.trim().length > 20, `${tab} is blank`);
    assert.doesNotMatch(text, /could not be drawn|NaN|undefined|Infinity/, tab);
  }
  await page.screenshot({ path: path.join(OUT, `kind-${name}.png`), fullPage: true });
  assert.deepEqual(troubles, []);
  return page;
}

function telemetryOf(snapshot) {
  const file = path.join(OUT, `${snapshot}.telemetry.json`);
  const run = stormlog(
    "export",
    data("h200", `${snapshot}.pickle.gz`),
    "--to",
    "telemetry-json",
    "-o",
    file,
  );
  assert.equal(run.status, 0, run.stderr);
  return file;
}

const value = async (page, selector) =>
  Number(await page.locator(selector).first().getAttribute("data-value"));

test("telemetry has the curve of its samples and a ledger, but no blocks", async () => {
  const file = telemetryOf("s2_retention");
  const page = await walk("telemetry", [file]);
  const records = JSON.parse(await import("node:fs").then((fs) => fs.readFileSync(file, "utf8")));
  const samples = Array.isArray(records) ? records : (records.events ?? records.records);
  assert.equal(await value(page, "#tile-events"), samples.length);
  assert.equal(
    await value(page, "#tile-peak"),
    Math.max(...samples.map((r) => r.allocator_allocated_bytes)),
  );
  await page.click("#tab-ledger");
  assert.equal(await page.locator("#panel-ledger tbody tr").count(), 4);
  await page.click("#tab-about");
  assert.match(await page.locator("#panel-about").innerText(), /samples, not single allocations/);
  await page.close();
});

test("telemetry opens with a view that has data, and links to no empty view", async () => {
  const { file } = makeReport("kind-leaky", [data("peer", "leaky/events.json")]);
  const { page, troubles } = await openPage(browser.context, file);
  assert.equal(await page.locator('[role="tab"][aria-selected="true"]').innerText(), "Ledger");
  assert.deepEqual(await page.locator(".card .buttons button").allInnerTexts(), ["Show when"]);
  await page.close();
  assert.deepEqual(troubles, []);
});

test("two ranks of telemetry are shown together", async () => {
  const page = await walk("telemetry-ranks", [
    telemetryOf("s2_retention"),
    telemetryOf("s4_fixed"),
  ]);
  await page.click("#tab-ranks");
  assert.equal(await page.locator("#panel-ranks tbody tr").count(), 2);
  await page.close();
});

test("a bundle of a failed run shows the verdict and the samples before it", async () => {
  const folder = path.join(data("peer"), "oom/oom");
  const bundle = path.join(
    folder,
    readdirSync(folder).find((n) => n.startsWith("oom_dump_")),
  );
  const page = await walk("bundle", [bundle]);
  const report = analyze(bundle);
  assert.equal(report.inputs[0].kind, "oom-bundle");
  assert.match(await page.locator(".verdict").innerText(), /out of memory/i);
  assert.equal(await value(page, "#tile-peak"), report.devices[0].peak_requested_bytes);
  await page.close();
});

test("two inputs can be compared without the option --diff", async () => {
  const page = await walk(
    "two-inputs",
    ["s4_fixed", "s2_retention"].map((n) => data("h200", `${n}.pickle.gz`)),
  );
  await page.click("#tab-diff");
  assert.match(
    await page.locator("#panel-diff tbody tr").first().innerText(),
    /s2_retention\.py:5/,
  );
  await page.close();
});

const hasTorch = spawnSync("/usr/bin/python3", ["-c", "import torch"]).status === 0;

test(
  "a page of a recorded run shows its figures",
  { skip: hasTorch ? false : "Debian's python3-torch is not installed" },
  async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "stormlog-page-"));
    try {
      stormlog(
        "run",
        "-o",
        folder,
        "--modules",
        "--",
        "/usr/bin/python3",
        path.join(ROOT, "tools/demo_train.py"),
      );
      const recording = readdirSync(folder).find((n) => n.endsWith(".slog"));
      assert.ok(recording && existsSync(path.join(folder, recording)), "nothing was recorded");
      const input = path.join(folder, recording);
      const page = await walk("recording", [input]);
      assert.match(
        await page.locator("header .identity").innerText(),
        /^A stormlog recording: \S*python3 .*demo_train\.py, process \d+ on .+, started [\d-]{10} /,
      );
      const report = analyze(input);
      const [device] = report.devices.sort(
        (a, b) => b.peak_requested_bytes - a.peak_requested_bytes,
      );
      assert.equal(await value(page, "#tile-peak"), device.peak_requested_bytes);
      assert.equal(await value(page, "#tile-live"), device.live_requested_bytes);
      for (const [name, expected] of [
        ["By tag", /parameter[\s\S]*gradient[\s\S]*activation/],
        ["By module", /outside any module/],
      ]) {
        await page.locator("section").getByText(name, { exact: true }).click();
        await page.locator("section .legend").first().filter({ hasText: expected }).waitFor();
        await page.screenshot({
          path: path.join(OUT, `kind-recording-${name.toLowerCase().replace(" ", "-")}.png`),
          fullPage: true,
        });
      }
      await page.click("#tab-sites");
      assert.match(await page.locator("#panel-sites tbody").innerText(), /activation/);
      await page.close();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
