// Other allocator settings on the page: the figures of `stormlog whatif`, no tab where there is
// nothing to show, and how it looks.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser } from "../browser.mjs";
import { checkLooks, data, openReport, stormlog } from "../report.mjs";

const SAVES = data("corpus", "c39_one_long_sample.pickle.gz");
const FAILS = data("corpus", "c21_oom_fragmentation.pickle.gz");

let browser;
before(async () => {
  browser = await openBrowser();
});
after(() => browser.close());

const open = (name, inputs, context = browser.context, ...options) =>
  openReport(context, `whatif-${name}`, inputs, ...options);

const answer = (input) =>
  JSON.parse(stormlog("whatif", input, "--quick", "--format", "json").stdout).answers[0];

/** {setting: reserved peak, or null where a request fails} of the table. */
const shownRows = (page) =>
  page.evaluate(() =>
    Object.fromEntries(
      [...document.querySelectorAll("#panel-whatif tbody tr")].map((tr) => {
        const value = tr.children[1].getAttribute("data-value");
        return [tr.querySelector(".name").textContent, value === "" ? null : Number(value)];
      }),
    ),
  );

for (const [name, input] of [
  ["saves", SAVES],
  ["fails", FAILS],
])
  test(`${name}: the table has the figures that the command prints`, async () => {
    const { page, done } = await open(name, [input]);
    await page.click("#tab-whatif");
    const { rows, best } = answer(input);
    const named = (r) =>
      r.kind === "recorded"
        ? `as recorded (${r.settings || "defaults"})`
        : r.settings || "defaults";
    const text = await page.locator("#panel-whatif").innerText();
    const same = text.match(/The same as recorded: (.*)\./)[1].split("; ");
    const peak = (r) => (r.fits ? r.reserved_peak_bytes : null);
    const shown = await shownRows(page);
    for (const name of same) shown[name] = peak(rows[0]);
    assert.deepEqual(shown, Object.fromEntries(rows.map((r) => [named(r), peak(r)])));
    assert.ok(same.length > 5 && rows.length > same.length + 3, text);
    assert.equal(text.includes("the best one"), best !== null);
    if (best) assert.ok(text.includes(best.paste), text);
    assert.match(text, /addresses \(100 %\) are the same/);
    await done();
  });

test("each curve has a legend entry, and the readout shows its value at the pointer", async () => {
  const { page, done } = await open("saves", [SAVES]);
  await page.click("#tab-whatif");
  const legend = await page.locator("#panel-whatif .legend").innerText();
  assert.match(legend, /as recorded \(defaults\) and 8 more/);
  assert.match(legend, /expandable_segments:True and 1 more/);
  assert.match(legend, /no setting can reserve less, 128 MiB/);
  const plot = page.locator("#panel-whatif .plot");
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.locator(".u-over").boundingBox();
  await page.mouse.move(box.x + box.width * 0.995, box.y + box.height / 2);
  await page.waitForFunction(() =>
    document.querySelector("#panel-whatif .readout").textContent.includes("as recorded"),
  );
  assert.match(
    await page.locator("#panel-whatif .readout").innerText(),
    /as recorded \(defaults\) and 8 more: 280 MiB; expandable_segments:True and 1 more: 168 MiB/,
  );
  await done();
});

test("the plot shows the timeline's range", async () => {
  const { page, done } = await open("saves", [SAVES]);
  await page.click("#tab-whatif");
  const plot = page.locator("#panel-whatif .plot");
  const whole = await plot.locator("canvas").screenshot();
  await plot.focus();
  await page.keyboard.press("+");
  await page.waitForTimeout(100);
  assert.notDeepEqual(await plot.locator("canvas").screenshot(), whole);
  await done();
});

for (const [name, inputs, options] of [
  ["a trace that cannot be proven", [data("slog", "jax.slog.xz")], []],
  ["samples", [data("peer", "leaky", "events.json")], []],
  ["--no-whatif", [SAVES], ["--no-whatif"]],
])
  test(`there is no What-if tab: ${name}`, async () => {
    const { page, done } = await open("none", inputs, browser.context, ...options);
    assert.equal(await page.locator("#tab-whatif:visible").count(), 0);
    await page.click("#tab-about");
    const text = await page.locator("#panel-about").innerText();
    const isRefused = name.startsWith("a trace");
    assert.equal(text.includes("95 % are needed"), isRefused, text);
    await done();
  });

for (const [width, colorScheme] of [
  [1280, "light"],
  [1280, "dark"],
  [390, "light"],
  [390, "dark"],
])
  test(`the What-if tab can be used at ${width} px, ${colorScheme}`, async () => {
    const own = await openBrowser({ viewport: { width, height: 900 }, colorScheme });
    try {
      for (const [name, input] of Object.entries({ saves: SAVES, fails: FAILS })) {
        const { page, done } = await open(name, [input], own.context);
        await page.click("#tab-whatif");
        await checkLooks(page, "#panel-whatif", `whatif-${name}-${width}-${colorScheme}`);
        await done();
      }
    } finally {
      await own.close();
    }
  });
