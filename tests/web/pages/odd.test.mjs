// Inputs that are empty, broken, huge or hostile: a page that says so, or no page at all.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { ROOT, openBrowser, openPage, tabsOf } from "../browser.mjs";
import { OUT, makeReport, stormlog } from "../report.mjs";

const FOLDER = path.join(OUT, "odd");
const odd = (name) => path.join(FOLDER, `${name}.pickle`);
let browser;

before(async () => {
  const made = spawnSync("python3", [path.join(ROOT, "tests/web/make_inputs.py"), FOLDER], {
    encoding: "utf8",
  });
  assert.equal(made.status, 0, made.stderr);
  browser = await openBrowser();
});
after(async () => {
  await browser.close();
});

/**
 * Opens the page, goes through every view; none may be blank or complain. Returns the text of it
 * all.
 */
async function walk(name, ...options) {
  const { file } = makeReport(`odd-${name}`, [odd(name)], ...options);
  const { page, troubles } = await openPage(browser.context, file);
  let text = await page.locator("#app").innerText();
  for (const tab of await tabsOf(page)) {
    await page.click(`#tab-${tab}`);
    const part = await page.locator(`#panel-${tab}`).innerText();
    assert.ok(part.trim() !== "", `${tab} is blank`);
    assert.doesNotMatch(part, /could not be drawn|NaN|undefined|Infinity/, tab);
    text += part;
  }
  await page.screenshot({ path: path.join(OUT, `odd-${name}.png`), fullPage: true });
  assert.deepEqual(troubles, []);
  return { page, text };
}

test("markup in names stays text", async () => {
  const { page, text } = await walk(
    "hostile",
    "--title",
    "</title><img src=x onerror=window.hacked=1>",
  );
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator("img").count(), 0);
  assert.ok(text.includes("<img src=x onerror=window.hacked=1>.py"), "the name is shown as it is");
  assert.equal(await page.title(), "</title><img src=x onerror=window.hacked=1>");
});

test("an inline handler or another script is refused by the page's policy", async () => {
  const { file } = makeReport("odd-policy", [odd("one_event")]);
  const html = readFileSync(file, "utf8");
  const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)[1];
  assert.match(policy, /^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'/);
  assert.doesNotMatch(policy, /unsafe|https?:|\*/);
  const { page } = await openPage(browser.context, file);
  const ran = await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.hacked = 1";
    document.body.append(script);
    return window.hacked;
  });
  assert.equal(ran, undefined);
  await page.close();
});

test("names that are not UTF-8 are shown with replacement characters", async () => {
  const { text } = await walk("not_utf8");
  assert.match(text, /\ufffd/);
});

test("the page of an empty trace says that it is empty", async () => {
  const { text } = await walk("empty");
  assert.match(text, /no event|no block|no history/i);
});

test("a trace with one event has a page", async () => {
  const { text } = await walk("one_event");
  assert.match(text, /512 B/);
});

test("events whose time goes backwards are sorted, and the page says so", async () => {
  const { text } = await walk("backwards");
  assert.match(text, /out of order|sorted|backwards/i);
});

test("without a clock, moments and lives are counted in events", async () => {
  const { page, text } = await walk("without_clock");
  assert.match(await page.locator("#tile-peak + .note").innerText(), /^at event 1\d,\d{3}$/);
  assert.match(await page.locator("#timeline-readout").innerText(), /^Peak: event 1\d,\d{3}: live/);
  assert.equal(await page.locator("section .tools select").count(), 0, "a choice of axes");
  await page.click("#tab-sites");
  assert.match(await page.locator("#panel-sites tbody").innerText(), /\t2 events/);
  await page.click("#tab-blocks");
  const { width, height } = await page.locator("#panel-blocks .plot .u-over").boundingBox();
  const position = { x: width / 2, y: height - 4 };
  await page.locator("#panel-blocks .plot .u-over").click({ position });
  const detail = await page.locator("#panel-blocks .detail").innerText();
  assert.match(detail, /Allocated\s+event \d,\d{3}\s+Life\s+2 events/);
  assert.doesNotMatch(text + detail, /\d (µs|ms|s|min|h)\b/);
});

test("the page opens with the device that the verdict is about", async () => {
  const { page } = await walk("leak_on_second_device");
  assert.match(await page.locator(".verdict").innerText(), /leak[\s\S]*train\.py:77/i);
  assert.equal(await page.getByLabel("Showing").locator("option:checked").innerText(), "device 1");
  assert.equal(await page.locator("#tile-peak").innerText(), "102 MiB");
});

test("a trace with a block larger than any card has a page", async () => {
  const { text } = await walk("larger_than_card");
  assert.match(text, /32\.0 TiB/);
  assert.doesNotMatch(text, /larger than the whole device/);
});

test("a block larger than the card is reported if the card's size is known", async () => {
  const { text } = await walk("larger_than_card", "--capacity", "80GiB");
  assert.match(text, /largest block, 32\.0 TiB, is larger than the whole device \(80\.0 GiB\)/);
});

test("addresses keep all their digits", async () => {
  const { page } = await walk("high_addresses");
  await page.click("#tab-blocks");
  await page.locator("#panel-blocks input[type=search]").fill("0xfffffffffff00000");
  await page.waitForFunction(
    () =>
      document.querySelector("#panel-blocks .tools .sub").textContent === "1 blocks match" ||
      document.querySelector("#panel-blocks .tools .sub").textContent === "1 block matches",
  );
});

test("a trace with 100,000 distinct stacks has a page", async () => {
  const { text } = await walk("many_stacks");
  assert.match(text, /of 100,000 stacks are kept whole/);
  assert.match(text, /48\.8 MiB/);
});

async function failurePage(name, input, reason, ...options) {
  const file = path.join(OUT, `odd-${name}.html`);
  rmSync(file, { force: true });
  const run = stormlog("report", input, "-o", file, ...options);
  assert.equal(run.status, 3);
  assert.match(run.stderr, reason);
  const { page, troubles } = await openPage(browser.context, file);
  const text = await page.locator("#app").innerText();
  assert.match(text, /No report/i);
  assert.match(text, reason);
  await page.screenshot({ path: path.join(OUT, `odd-${name}.png`) });
  assert.deepEqual(troubles, []);
  return page;
}

test("for half a file the command fails, and the page gives the reason", async () => {
  await failurePage("half", odd("half"), /ends at byte \d+/);
});

test("for half a recording the command fails, and the page gives the reason", async () => {
  const whole = spawnSync("xz", ["-dc", path.join(ROOT, "tests/data/slog/jax.slog.xz")], {
    maxBuffer: 1 << 30,
  });
  assert.equal(whole.status, 0, String(whole.stderr));
  const file = path.join(FOLDER, "half.slog");
  writeFileSync(file, whole.stdout.subarray(0, whole.stdout.length / 2));
  await failurePage("half-recording", file, /the file was cut/);
});

test("a hostile heading stays text where there is no report", async () => {
  const page = await failurePage(
    "half-hostile",
    odd("half"),
    /ends at byte \d+/,
    "--title",
    "</title><script>window.hacked=1</script>",
  );
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.title(), "</title><script>window.hacked=1</script>");
});

test("an input that does not exist, or cannot be read, leaves no page", () => {
  const file = path.join(OUT, "odd-none.html");
  assert.equal(stormlog("report", odd("no_such_file"), "-o", file).status, 3);
  assert.equal(stormlog("report", path.join(ROOT, "Makefile"), "-o", file).status, 3);
  assert.equal(existsSync(file), false);
});

test("wrong usage and bad input have different exit codes", () => {
  assert.equal(stormlog("report").status, 2);
  assert.equal(
    stormlog("report", odd("one_event"), "--diff", "-o", path.join(OUT, "x.html")).status,
    2,
  );
  assert.equal(stormlog("report", odd("no_such_file")).status, 3);
  assert.equal(
    stormlog("report", odd("one_event"), "-o", path.join(OUT, "no", "such", "folder.html")).status,
    4,
  );
});
