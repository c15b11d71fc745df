// What fills the card, of recordings made on a GPU: the page's figures against the report's, the
// alerts, and how it looks.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { openBrowser } from "../browser.mjs";
import { analyze, checkLooks, data, openReport } from "../report.mjs";

let browser;
let folder;
const recordings = {};

before(async () => {
  browser = await openBrowser();
  folder = mkdtempSync(path.join(tmpdir(), "stormlog-ledger-"));
  for (const name of ["oom", "nccl", "jax"]) recordings[name] = unpack(name);
});
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The recording with its holes; its zeros are not written. */
function unpack(name) {
  const to = path.join(folder, `${name}.slog`);
  const code =
    "import lzma, sys\nwith lzma.open(sys.argv[1]) as source, open(sys.argv[2], 'wb') as to:\n" +
    " while piece := source.read(1 << 20):\n" +
    "  to.write(piece) if piece.strip(b'\\0') else to.seek(len(piece), 1)\n to.truncate()\n";
  const run = spawnSync("/usr/bin/python3", ["-c", code, data("slog", `${name}.slog.xz`), to], {
    encoding: "utf8",
  });
  assert.equal(run.status, 0, run.stderr);
  return to;
}

async function openLedger(name, context = browser.context) {
  const opened = await openReport(context, `ledger-${name}`, [recordings[name]]);
  await opened.page.click("#tab-ledger");
  return opened;
}

/** {row: bytes or null} of the table that is shown. */
async function shownRows(page) {
  return page.evaluate(() =>
    Object.fromEntries(
      [...document.querySelectorAll("#panel-ledger table.ledger tbody tr")].map((tr) => {
        const name = tr.querySelector("th").childNodes[1].textContent.trim();
        const value = tr.children[1].getAttribute("data-value");
        return [name, value === "" ? null : Number(value)];
      }),
    ),
  );
}

const reported = (ledger) => Object.fromEntries(ledger.rows.map((r) => [r.name, r.bytes]));

for (const name of ["oom", "nccl", "jax"])
  test(`${name}: the fullest moment and the last one equal the report's`, async () => {
    const { page, done } = await openLedger(name);
    const device = analyze(recordings[name]).devices.find((d) => d.device === 0);
    assert.deepEqual(await shownRows(page), reported(device.ledger_fullest));
    const slider = page.getByRole("slider", { name: "Moment" });
    await slider.focus();
    await page.keyboard.press("End");
    assert.deepEqual(await shownRows(page), reported(device.ledger));
    const used = Number(
      await page.locator("#panel-ledger tfoot td[data-value]").first().getAttribute("data-value"),
    );
    assert.equal(used, device.ledger.card_used_bytes);
    assert.equal(
      Object.values(await shownRows(page)).reduce((s, v) => s + (v ?? 0), 0),
      used,
    );
    assert.match(await slider.getAttribute("aria-valuetext"), /after the start/);
    await done();
  });

test("a click selects a moment, and the scale can show the whole card", async () => {
  const { page, done } = await openLedger("jax");
  const plot = page.locator("#panel-ledger .plot").first();
  await plot.scrollIntoViewIfNeeded();
  const before = await shownRows(page);
  const caption = await page.locator("#panel-ledger table.ledger caption").innerText();
  const box = await plot.locator(".u-over").boundingBox();
  await page.mouse.click(box.x + box.width * 0.3, box.y + box.height / 2);
  await page.waitForFunction(
    (old) => document.querySelector("#panel-ledger table.ledger caption").textContent !== old,
    caption,
  );
  const then = await shownRows(page);
  assert.ok(then["xla_cuda_plugin"] < before["xla_cuda_plugin"], JSON.stringify(then));
  assert.equal(then["tensors"], null);
  assert.match(
    await page.locator("#panel-ledger table.ledger").innerText(),
    /tensors .*\s+not known/,
  );
  const pixels = () => plot.locator("canvas").screenshot();
  const small = await pixels();
  await page.getByText("The whole card").click();
  assert.notDeepEqual(await pixels(), small);
  await done();
});

test("the timeline has the card's line, and the alert as text", async () => {
  const { page, done } = await openLedger("oom");
  assert.match(
    await page.locator(".legend").first().innerText(),
    /used on the device[\s\S]*limit 140 GiB[\s\S]*1 alert/,
  );
  const alert = analyze(recordings.oom).alerts[0];
  const mark = page.locator(".alert-mark");
  assert.equal(await mark.count(), 1);
  assert.ok((await mark.getAttribute("aria-label")).includes(alert.text));
  await mark.focus();
  assert.ok((await page.locator("#timeline-readout").innerText()).includes(alert.text));
  await page.click("#tab-about");
  assert.ok((await page.locator("#panel-about .alerts").innerText()).includes(alert.text));
  await done();
});

for (const [width, colorScheme] of [
  [1280, "light"],
  [1280, "dark"],
  [390, "light"],
  [390, "dark"],
])
  test(`the ledger can be used at ${width} px, ${colorScheme}`, async () => {
    const own = await openBrowser({ viewport: { width, height: 900 }, colorScheme });
    try {
      const { page, done } = await openLedger("nccl", own.context);
      await checkLooks(page, "#panel-ledger", `ledger-${width}-${colorScheme}`);
      await done();
    } finally {
      await own.close();
    }
  });
