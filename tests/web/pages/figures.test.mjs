// Every page shows what `analyze --format json` says, in every view, without an error or a request.
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { openBrowser, openPage, tabsOf } from "../browser.mjs";
import { OUT, analyze, data, makeReport } from "../report.mjs";

let browser;
before(async () => {
  browser = await openBrowser();
});
after(async () => {
  await browser.close();
});

const value = async (page, selector) => {
  const text = await page.locator(selector).first().getAttribute("data-value");
  return text === null ? null : Number(text);
};

async function checkTiles(page, device) {
  assert.equal(await value(page, "#tile-peak"), device.peak_requested_bytes, "peak");
  assert.equal(await value(page, "#tile-live"), device.live_requested_bytes, "live");
  assert.equal(await value(page, "#tile-base"), device.base_bytes, "base");
  assert.equal(await value(page, "#tile-reserved"), device.reserved_bytes, "reserved");
}

async function checkFindings(page, report) {
  // Equal findings of several devices share one card.
  const cards = await page.evaluate(() =>
    [...document.querySelectorAll(".card")].map((c) => ({
      kind: c.dataset.kind,
      count: Number(c.dataset.count),
      text: c.textContent.toLowerCase(),
    })),
  );
  assert.equal(
    cards.reduce((sum, c) => sum + c.count, 0),
    report.findings.length,
    "findings in cards",
  );
  for (const [i, finding] of report.findings.entries()) {
    const text = cards
      .filter((c) => c.kind === finding.kind)
      .map((c) => c.text)
      .join("\n");
    assert.ok(
      text.includes(finding.title.toLowerCase()),
      `title of finding ${i}: ${finding.title}`,
    );
    if (finding.site?.file)
      assert.ok(
        text.includes(`${finding.site.file}:${finding.site.line}`.toLowerCase()),
        `line of finding ${i}`,
      );
  }
}

/** Bytes by "file:line function" of one column of the table of lines. */
async function tableColumn(page, index) {
  while ((await page.locator("#panel-sites .buttons button").count()) > 0)
    await page.locator("#panel-sites .buttons button").click();
  return page.evaluate(
    (column) =>
      Object.fromEntries(
        [...document.querySelectorAll("#panel-sites tbody tr[data-frame]")].map((tr) => [
          tr.querySelector("button").textContent,
          Number(tr.children[column].getAttribute("data-value")),
        ]),
      ),
    index,
  );
}

const label = (site) =>
  site.file ? `${path.basename(site.file)}:${site.line} ${site.function}` : null;

/** Lines with the same label count as one: a page shows base names. */
function sumByLabel(holdings) {
  const out = new Map();
  for (const h of holdings) {
    const name = label(h.site);
    if (name) out.set(name, (out.get(name) ?? 0) + h.bytes);
  }
  return out;
}

async function checkSites(page, device) {
  await page.click("#tab-sites");
  const shown = await tableColumn(page, 1);
  for (const [name, bytes] of sumByLabel(device.top_live))
    assert.equal(shown[name], bytes, `live bytes of ${name}`);
}

async function checkFlame(page, device) {
  await page.click("#tab-flame");
  const total = await value(page, "#flame-what");
  assert.equal(
    total,
    device.peak_requested_bytes ?? device.live_requested_bytes,
    "flame graph at the peak",
  );
}

async function checkSegments(page, device) {
  if (!(await tabsOf(page)).includes("segments")) return;
  await page.click("#tab-segments");
  const atEnd = page.getByRole("button", { name: "At the end, as recorded" });
  if ((await atEnd.count()) === 0) return;
  await atEnd.click();
  assert.equal(
    await value(page, "#segments-reserved"),
    device.reserved_bytes,
    "reserved in the map of segments",
  );
}

async function checkOthers(page) {
  for (const tab of await tabsOf(page)) {
    await page.click(`#tab-${tab}`);
    assert.ok(
      (await page.locator(`#panel-${tab}`).innerText()).trim().length > 20,
      `${tab} is blank`,
    );
  }
}

/** The device that the page opens with: the verdict's, else the one with the highest peak. */
function shownDevice({ devices, findings, oom, verdict }) {
  const severe = ["critical", "warning"].flatMap((s) => findings.filter((f) => f.severity === s));
  const blamed = [
    verdict === "oom" ? oom : null,
    ...severe.filter((f) => f.kind === verdict),
    ...findings.filter((f) => f.kind === verdict),
    ...severe,
  ].filter((f) => typeof f?.device === "number");
  const found = devices.find((d) => d.device === blamed[0]?.device);
  const peak = (d) => d.peak_requested_bytes ?? d.live_requested_bytes;
  return found ?? devices.reduce((a, b) => (peak(b) > peak(a) ? b : a));
}

async function checkPage(name, input, ...options) {
  const report = analyze(input);
  const { file } = makeReport(name, [input], ...options);
  const { page, troubles } = await openPage(browser.context, file);
  const device = shownDevice(report);
  const verdict = (await page.locator(".verdict .lead").innerText()).toLowerCase();
  const headline = report.headline.toLowerCase();
  assert.ok(
    headline.endsWith(verdict) && verdict.length > 20,
    `${verdict} is not the end of ${headline}`,
  );
  await checkTiles(page, device);
  await checkFindings(page, report);
  await checkOthers(page);
  await checkSegments(page, device);
  await checkFlame(page, device);
  await checkSites(page, device);
  await page.locator('[role="tab"]:visible').first().click();
  await page.screenshot({ path: path.join(OUT, `${name}.png`), fullPage: true });
  await page.close();
  assert.deepEqual(troubles, []);
}

const inputs = (folder, only) =>
  (existsSync(data(folder)) ? readdirSync(data(folder)) : [])
    .filter((n) => /\.(pickle|pkl)(\.gz)?$/.test(n) && only.test(n))
    .map((n) => [n.split(".")[0], data(folder, n)]);

// The whole corpus takes minutes: the cases of unusual form, and one of each verdict, stand for it.
const CORPUS = process.env.STORMLOG_WEB_ALL ? /./ : /^(x\d|c04|c18|c20|c21|c31|c35|c40)/;

for (const [name, input] of [...inputs("h200", /./), ...inputs("corpus", CORPUS)])
  test(`the figures of ${name} equal the report's`, () => checkPage(name, input));

// Most blocks are left out here: sums must come from the checkpoints and still be exact.
for (const name of ["s1_loss_history", "s6_expandable"])
  test(`the figures of ${name} with few blocks equal the report's`, () =>
    checkPage(`${name}-few`, data("h200", `${name}.pickle.gz`), "--top", "100"));
