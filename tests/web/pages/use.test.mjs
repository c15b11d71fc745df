// What a reader does: select, search, sort, copy, print, use the keyboard; on a wide and a narrow
// screen, light and dark.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { ROOT, axeProblems, openBrowser, openPage, tabsOf } from "../browser.mjs";
import { OUT, data, makeReport } from "../report.mjs";

const LEAK = data("h200", "s2_retention.pickle.gz");
const OOM = data("h200", "s5_oom.pickle.gz");
let browser;
let leak;

before(async () => {
  browser = await openBrowser();
  leak = makeReport("use-leak", [LEAK]).file;
});
after(async () => {
  await browser.close();
});

async function open(file = leak) {
  const { page, troubles } = await openPage(browser.context, file);
  return {
    page,
    done: async () => {
      await page.close();
      assert.deepEqual(troubles, []);
    },
  };
}

const range = (page) => page.locator(".range").innerText();

async function drag(page, selector, from, to, modifier) {
  await page.locator(selector).scrollIntoViewIfNeeded();
  const box = await page.locator(selector).boundingBox();
  if (modifier) await page.keyboard.down(modifier);
  await page.mouse.move(box.x + box.width * from, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * ((from + to) / 2), box.y + box.height / 2, {
    steps: 3,
  });
  await page.mouse.move(box.x + box.width * to, box.y + box.height / 2, { steps: 3 });
  await page.mouse.up();
  if (modifier) await page.keyboard.up(modifier);
}

const TIMELINE = "section .plot .u-over";

test("the template stays below its size limit, and the program prints the page's path", () => {
  assert.ok(statSync(path.join(ROOT, "web/dist/report.html")).size <= 250 * 1024);
  const { file, said } = makeReport("use-size", [LEAK]);
  assert.ok(
    said.startsWith(`${file}: `) && said.includes(statSync(file).size.toLocaleString("en-US")),
    said,
  );
});

test("dragging selects the range that the table shows; panning moves it", async () => {
  const { page, done } = await open();
  await page.click("#tab-sites");
  const whole = await page.locator("#panel-sites tbody tr").first().innerText();
  await drag(page, TIMELINE, 0.25, 0.5);
  await page.waitForFunction(() =>
    document.querySelector(".range").textContent.includes("selected"),
  );
  const selected = await range(page);
  await page.waitForFunction(
    (before) => document.querySelector("#panel-sites tbody tr").innerText !== before,
    whole,
  );
  assert.match(await page.locator("#panel-sites caption").innerText(), /selected range/);
  await drag(page, TIMELINE, 0.5, 0.3, "Shift");
  await page.waitForFunction(
    (before) => document.querySelector(".range").textContent !== before,
    selected,
  );
  await page.getByRole("button", { name: "Whole run" }).click();
  await page.waitForFunction(() =>
    document.querySelector(".range").textContent.startsWith("Whole run"),
  );
  await done();
});

test("the growth of a selected range is live at its end minus live at its start", async () => {
  const { page, done } = await open();
  const at = async (fraction) => {
    const box = await page.locator(TIMELINE).boundingBox();
    await page.mouse.move(box.x + box.width * fraction, box.y + 20);
    return page.locator("#timeline-readout").innerText();
  };
  assert.match(await at(0.5), /live [\d.]+ MiB \([\d,]+ B\), reserved/);
  await drag(page, TIMELINE, 0.3, 0.6);
  await page.click("#tab-sites");
  const sum = await page.evaluate(() =>
    [...document.querySelectorAll("#panel-sites tbody tr[data-frame]")].reduce(
      (s, tr) => s + Number(tr.children[3].getAttribute("data-value")),
      0,
    ),
  );
  await page.click("#tab-flame");
  await page.getByText("Growth in the range").click();
  const grown = Number(await page.locator("#flame-what").getAttribute("data-value"));
  assert.ok(grown >= sum && sum > 0, `tree ${grown}, table ${sum}`);
  await done();
});

test("keys zoom, pan and step", async () => {
  const { page, done } = await open();
  const plot = page.locator("section .plot").first();
  await plot.focus();
  await page.keyboard.press("+");
  await page.waitForFunction(() =>
    document.querySelector(".range").textContent.includes("selected"),
  );
  const zoomed = await range(page);
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(
    (before) => document.querySelector(".range").textContent !== before,
    zoomed,
  );
  await page.keyboard.press("0");
  assert.match(await range(page), /Whole run/);
  const peak = await page.locator("#timeline-readout").innerText();
  await page.keyboard.press(",");
  await page.waitForFunction(
    (before) => document.querySelector("#timeline-readout").textContent !== before,
    peak,
  );
  await page.locator("#tab-blocks").focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.evaluate(() => document.activeElement.id), "tab-flame");
  await done();
});

test("the curve can be stacked by line and by file", async () => {
  const { page, done } = await open();
  for (const name of ["By line", "By file", "Total"]) {
    await page.locator("section").getByText(name, { exact: true }).click();
    await page.waitForTimeout(60);
  }
  await page.locator("section").getByText("By line", { exact: true }).click();
  await page.waitForFunction(() =>
    document.querySelector(".legend").textContent.includes("s2_retention.py:5"),
  );
  await done();
});

test("blocks can be hovered, pinned and searched in both layouts", async () => {
  const { page, done } = await open();
  await page.locator("#panel-blocks .plot .u-over").scrollIntoViewIfNeeded();
  const box = await page.locator("#panel-blocks .plot .u-over").boundingBox();
  await page.mouse.move(box.x + box.width * 0.9, box.y + box.height * 0.6);
  await page.waitForFunction(() =>
    /0x[0-9a-f]{8}/.test(document.querySelector(".detail").textContent),
  );
  await page.mouse.down();
  await page.mouse.up();
  await page.mouse.move(box.x + 2, box.y + 2);
  await page.waitForFunction(() =>
    document.querySelector(".detail").textContent.includes("kept here"),
  );
  await page.locator("#panel-blocks input[type=search]").fill("s2_retention.py:5");
  await page.waitForFunction(() =>
    /^2\d\d blocks match/.test(document.querySelector("#panel-blocks .tools .sub").textContent),
  );
  await page.getByText("By address").click();
  await page.waitForFunction(() =>
    document.querySelector("#panel-blocks").textContent.includes("without the holes"),
  );
  await done();
});

test("a finding links to its range, its blocks and its line", async () => {
  const { page, done } = await open();
  const card = page.locator(".card").first();
  await card.getByText("Show its line").click();
  await page.waitForFunction(
    () => document.querySelector("#panel-sites input")?.value === "s2_retention.py:5",
  );
  assert.match(await page.locator("#panel-sites caption").innerText(), /^1 of/);
  await page.locator("#panel-sites tbody button").first().click();
  assert.match(await page.locator("#panel-sites .stack").first().innerText(), /s2_retention\.py:5/);
  await done();
});

test("the table can be sorted and copied as Markdown", async () => {
  const { page, done } = await open();
  await browser.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.click("#tab-sites");
  await page.getByRole("button", { name: "Allocs", exact: true }).click();
  const values = await page.evaluate(() =>
    [...document.querySelectorAll("#panel-sites tbody tr[data-frame]")].map((tr) =>
      Number(tr.children[4].getAttribute("data-value")),
    ),
  );
  assert.deepEqual(
    values,
    values.slice().sort((a, b) => b - a),
  );
  await page.getByText("Copy as Markdown").click();
  await page.waitForFunction(() =>
    /Copied|below/.test(document.querySelector("#panel-sites [role=status]").textContent),
  );
  const text = await page.evaluate(
    async () =>
      document.querySelector("#panel-sites textarea")?.value ?? navigator.clipboard.readText(),
  );
  assert.match(text, /^\| Line \| Live \| Peak \|/);
  await done();
});

test("the flame graph can be used with the keyboard, focused and reordered", async () => {
  const { page, done } = await open(makeReport("use-oom", [OOM]).file);
  await page.click("#tab-flame");
  await page.locator("canvas.flame").focus();
  const status = page.locator("#panel-flame [role=status]");
  const before = await status.innerText();
  await page.keyboard.press("ArrowDown");
  assert.notEqual(await status.innerText(), before);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  assert.equal(await status.innerText(), before);
  await page.getByText("Allocating line on top").click();
  await page.getByText("User code", { exact: true }).click();
  assert.match(await status.innerText(), /everything: 2\.78 GiB/);
  await page.locator("#panel-flame input[type=search]").fill("s5_oom.py:9");
  await page.waitForFunction(() =>
    /^2\.62 GiB run through what was found, 9\d %$/.test(
      document.querySelector("#panel-flame .tools .sub").textContent,
    ),
  );
  await done();
});

test("several inputs have a view of ranks, and every lane can be selected", async () => {
  const { file } = makeReport(
    "use-ranks",
    ["s2_retention", "s3_baseline", "s4_fixed"].map((n) => data("h200", `${n}.pickle.gz`)),
  );
  const { page, done } = await open(file);
  await page.click("#tab-ranks");
  assert.equal(await page.locator("#panel-ranks tbody tr").count(), 3);
  assert.match(
    await page.locator("#panel-ranks").innerText(),
    /First rank to diverge: .*s2_retention/,
  );
  const before = await page.locator("#tile-peak").innerText();
  await page.getByLabel("Showing").selectOption("2");
  await page.waitForFunction(
    (text) => document.querySelector("#tile-peak").innerText !== text,
    before,
  );
  await page.screenshot({ path: path.join(OUT, "use-ranks.png"), fullPage: true });
  await done();
});

test("two inputs can be shown as a difference", async () => {
  const { file } = makeReport("use-diff", [data("h200", "s4_fixed.pickle.gz"), LEAK], "--diff");
  const { page, done } = await open(file);
  assert.match(
    await page.locator("#panel-diff tbody tr").first().innerText(),
    /s2_retention\.py:5[\s\S]*not there[\s\S]*\+400 MiB/,
  );
  await page.screenshot({ path: path.join(OUT, "use-diff.png"), fullPage: true });
  await done();
});

for (const [scheme, width] of [
  ["light", 1280],
  ["dark", 1280],
  ["light", 390],
  ["dark", 390],
])
  test(`accessible and not scrolling sideways: ${scheme}, ${width} pixels`, async () => {
    const own = await openBrowser({
      viewport: { width, height: 900 },
      colorScheme: scheme,
      bypassCSP: true,
    });
    try {
      const { page, troubles } = await openPage(own.context, makeReport("use-oom", [OOM]).file);
      for (const tab of await tabsOf(page)) {
        await page.click(`#tab-${tab}`);
        await page.screenshot({
          path: path.join(OUT, `use-${tab}-${scheme}-${width}.png`),
          fullPage: true,
        });
        assert.deepEqual(await axeProblems(page), [], tab);
        assert.ok(
          await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
          `${tab} is wider than the screen`,
        );
      }
      assert.deepEqual(troubles, []);
    } finally {
      await own.close();
    }
  });

test("a printed page has the answer and the picture, but not the controls", async () => {
  const { page, done } = await open();
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator(".tabs").isVisible(), false);
  assert.equal(await page.locator(".verdict").isVisible(), true);
  const pdf = await page.pdf({ path: path.join(OUT, "use-print.pdf"), format: "A4" });
  assert.ok(pdf.length > 10000);
  await done();
});

test("without JavaScript the verdict is still shown", async () => {
  const own = await openBrowser({ javaScriptEnabled: false });
  try {
    const page = await own.context.newPage();
    await page.goto(`file://${leak}`);
    assert.match(await page.locator("noscript").innerText(), /leak/i);
  } finally {
    await own.close();
  }
});
