// Opens pages in headless Chromium and prints size, first paint and frames per second while
// panning: measure.mjs PAGE... One line of figures for each page; medians of several runs.
import { statSync } from "node:fs";
import { openBrowser, openPage, whyNot } from "../../tests/web/browser.mjs";

const RUNS = 5;
const PAN_FRAMES = 120;

const reason = whyNot();
if (reason) {
  console.log(`skipped: ${reason}`);
  process.exit(0);
}

function median(values) {
  const sorted = values.slice().sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

function spread(values, unit) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return `${median(values).toFixed(0)} ${unit} (${least.toFixed(0)} to ${most.toFixed(0)})`;
}

/** When the browser first painted, and when timeline and tabs were drawn. */
async function paint(context, file) {
  const { page, troubles } = await openPage(context, file);
  const times = await page.evaluate(async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    await frame();
    await frame();
    const ready = performance.now();
    const painted = () => performance.getEntriesByName("first-contentful-paint")[0];
    while (!painted()) await frame(); // reported some time after the paint
    return { first: painted().startTime, ready };
  });
  await page.close();
  if (troubles.length > 0) throw new Error(troubles.join("\n"));
  return times;
}

/** Frames per second while the range of a zoomed plot moves on every frame, with one view open. */
async function pan(context, file, view) {
  const { page, troubles } = await openPage(context, file);
  await page.click(`#tab-${view}`);
  const plot = page.locator(view === "blocks" ? "#panel-blocks .plot" : ".plot").first();
  await plot.scrollIntoViewIfNeeded();
  await plot.focus();
  for (let i = 0; i < 4; i++) await page.keyboard.press("+");
  await page.waitForTimeout(200);
  const fps = await page.evaluate(async (frames) => {
    const target = document.activeElement;
    const press = (key) =>
      target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    const started = performance.now();
    for (let i = 0; i < frames; i++) {
      press(i % 20 < 10 ? "ArrowRight" : "ArrowLeft");
      await new Promise((done) => requestAnimationFrame(done));
    }
    return (frames * 1000) / (performance.now() - started);
  }, PAN_FRAMES);
  await page.close();
  if (troubles.length > 0) throw new Error(troubles.join("\n"));
  return fps;
}

async function repeat(work) {
  const out = [];
  for (let i = 0; i < RUNS; i++) out.push(await work());
  return out;
}

const browser = await openBrowser();
for (const file of process.argv.slice(2)) {
  await paint(browser.context, file); // warm the disk cache
  const times = await repeat(() => paint(browser.context, file));
  const timeline = await repeat(() => pan(browser.context, file, "about"));
  const blocks = await repeat(() => pan(browser.context, file, "blocks"));
  console.log(`${file}: ${(statSync(file).size / 1e6).toFixed(2)} MB (limit 8)`);
  console.log(
    `  first paint ${spread(
      times.map((t) => t.first),
      "ms",
    )}, timeline and first view ready ${spread(
      times.map((t) => t.ready),
      "ms",
    )} (limit 1000)`,
  );
  console.log(
    `  pan: timeline ${spread(timeline, "frames/s")}, ` +
      `timeline and blocks ${spread(blocks, "frames/s")} (limit 30)`,
  );
}
await browser.close();
