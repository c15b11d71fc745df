// Compares the page with PyTorch's own viewer on the same snapshots: viewer.mjs STORMLOG D3_FOLDER
// SNAPSHOT... STORMLOG_VIEWER names a MemoryViz.js; its imports of d3 are answered from D3_FOLDER
// (node_modules of npm's d3@7), so nothing is loaded from the network. One line for each program
// and snapshot: bytes that are opened, seconds until the view is drawn, highest memory of the
// page's process, frames per second while panning.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { CHROMIUM, FLAGS, ROOT, whyNot } from "../../tests/web/browser.mjs";

const LIMIT_MS = Number(process.env.STORMLOG_VIEWER_LIMIT_S ?? 300) * 1000;
const PAN_FRAMES = 120;
const SITE = "http://viewer.invalid";
const require = createRequire(path.join(ROOT, "web/package.json"));

async function withBrowser(work) {
  const { chromium } = require("playwright-core");
  const profile = mkdtempSync(path.join(tmpdir(), "stormlog-viewer-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM,
    args: FLAGS,
    viewport: { width: 1280, height: 900 },
  });
  try {
    return await work(context, profile);
  } finally {
    await context.close().catch(() => {});
    rmSync(profile, { recursive: true, force: true });
  }
}

const read = (file) => {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
};

/** The highest resident memory that any renderer of this browser had, in MiB. */
function rendererPeak(profile) {
  const all = readdirSync("/proc")
    .filter((n) => /^\d+$/.test(n))
    .map((pid) => {
      const status = read(`/proc/${pid}/status`);
      return {
        pid,
        parent: /^PPid:\s*(\d+)/m.exec(status)?.[1],
        peak: Number(/^VmHWM:\s*(\d+)/m.exec(status)?.[1] ?? 0),
        command: read(`/proc/${pid}/cmdline`),
      };
    });
  const family = new Set(
    all.filter((p) => p.command.includes(`--user-data-dir=${profile}`)).map((p) => p.pid),
  );
  for (let size = -1; size !== family.size;) {
    size = family.size;
    for (const p of all) if (family.has(p.parent)) family.add(p.pid);
  }
  return (
    Math.max(
      0,
      ...all
        .filter((p) => family.has(p.pid) && p.command.includes("--type=renderer"))
        .map((p) => p.peak),
    ) / 1024
  );
}

/** Reads the peak repeatedly: the figure of a renderer is lost when it dies. */
function watchPeak(profile) {
  let peak = 0;
  const look = () => {
    peak = Math.max(peak, rendererPeak(profile));
  };
  const timer = setInterval(look, 500);
  return () => {
    clearInterval(timer);
    look();
    return peak;
  };
}

/** The result of the work, or a text that says why there is none. */
async function orDeath(page, work) {
  let late;
  const died = new Promise((done) =>
    page.once("crash", () => done({ death: "the page's process crashed" })),
  );
  const timeout = new Promise((done) => {
    late = setTimeout(() => done({ death: `not drawn after ${LIMIT_MS / 1000} s` }), LIMIT_MS);
  });
  const failed = new Promise((done) => page.once("pageerror", (e) => done({ death: e.message })));
  const result = await Promise.race([
    died,
    timeout,
    failed,
    work().catch((e) => ({ death: e.message.split("\n")[0] })),
  ]);
  clearTimeout(late);
  return result;
}

async function servePages(context, d3) {
  const esbuild = require("esbuild");
  const bundle = esbuild.buildSync({
    stdin: { contents: 'export * from "d3";', resolveDir: d3 },
    bundle: true,
    write: false,
    format: "esm",
    logLevel: "error",
  });
  const answers = [
    [
      `${SITE}/`,
      "text/html",
      "<!doctype html><meta charset=utf-8><title>viewer</title><body>" +
        "<script type=module src=/MemoryViz.js></script>",
    ],
    [`${SITE}/MemoryViz.js`, "text/javascript", readFileSync(process.env.STORMLOG_VIEWER)],
    ["https://cdn.jsdelivr.net/npm/d3", "text/javascript", bundle.outputFiles[0].text],
  ];
  await context.route("**", (route) => {
    const url = route.request().url();
    const found = answers.find(([prefix]) =>
      prefix === `${SITE}/` ? url === prefix : url.startsWith(prefix),
    );
    return found
      ? route.fulfill({
          contentType: found[1],
          body: found[2],
          headers: { "access-control-allow-origin": "*" },
        })
      : route.abort();
  });
}

/** Frames per second while a plot is dragged back and forth with the mouse. */
function dragFrames({ selector, frames }) {
  const target = document.querySelector(selector);
  const box = target.getBoundingClientRect();
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  const send = (type, dx, to) =>
    to.dispatchEvent(
      new MouseEvent(type, {
        bubbles: true,
        cancelable: true,
        view: window,
        clientX: x + dx,
        clientY: y,
        buttons: 1,
      }),
    );
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  return (async () => {
    for (let i = 0; i < 4; i++) {
      target.dispatchEvent(
        new WheelEvent("wheel", {
          bubbles: true,
          cancelable: true,
          view: window,
          clientX: x,
          clientY: y,
          deltaY: -120,
        }),
      );
      await frame();
    }
    send("mousedown", 0, target);
    const started = performance.now();
    for (let i = 0; i < frames; i++) {
      send("mousemove", (i % 40 < 20 ? i % 20 : 20 - (i % 20)) * 8, window);
      await frame();
    }
    const fps = (frames * 1000) / (performance.now() - started);
    send("mouseup", 0, window);
    return fps;
  })();
}

async function measureViewer(snapshot, d3) {
  return withBrowser(async (context, profile) => {
    await servePages(context, d3);
    const page = await context.newPage();
    await page.goto(`${SITE}/`);
    await page.waitForSelector("input[type=file]", { state: "attached" });
    const peak = watchPeak(profile);
    const result = await orDeath(page, async () => {
      const started = Date.now();
      await page.locator("input[type=file]").setInputFiles(snapshot);
      await page.waitForSelector("svg polygon", { state: "attached", timeout: 0 });
      await page.evaluate(
        () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
      );
      const seconds = (Date.now() - started) / 1000;
      const drawn = await page.locator("label").allInnerTexts();
      // The plot's own background takes the drag; it is the first rectangle of the drawing.
      const fps = await page.evaluate(dragFrames, { selector: "svg rect", frames: PAN_FRAMES });
      return { seconds, fps, drawn: drawn.find((t) => t.startsWith("Detail")) ?? "" };
    });
    return { ...result, peak: peak(), bytes: statSync(snapshot).size };
  });
}

async function measurePage(stormlog, snapshot) {
  const file = `${snapshot}.html`;
  const started = Date.now();
  const run = spawnSync(stormlog, ["report", snapshot, "-o", file], { encoding: "utf8" });
  if (run.status !== 0) return { death: run.stderr.trim() };
  const made = (Date.now() - started) / 1000;
  return withBrowser(async (context, profile) => {
    const page = await context.newPage();
    const peak = watchPeak(profile);
    const result = await orDeath(page, async () => {
      const opened = Date.now();
      await page.goto(pathToFileURL(file).href);
      await page.waitForSelector("html[data-ready]", { timeout: 0 });
      await page.waitForSelector("#panel-blocks canvas", { timeout: 0 });
      await page.evaluate(
        () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
      );
      const seconds = (Date.now() - opened) / 1000;
      const fps = await page.evaluate(async (frames) => {
        const plot = document.querySelector("#panel-blocks .plot");
        const press = (key) =>
          plot.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        for (let i = 0; i < 4; i++) press("+");
        await new Promise((done) => setTimeout(done, 300));
        const from = performance.now();
        for (let i = 0; i < frames; i++) {
          press(i % 20 < 10 ? "ArrowRight" : "ArrowLeft");
          await new Promise((done) => requestAnimationFrame(done));
        }
        return (frames * 1000) / (performance.now() - from);
      }, PAN_FRAMES);
      return { seconds, fps, made };
    });
    return { ...result, peak: peak(), bytes: statSync(file).size };
  });
}

function timesOf(r) {
  if (r.death !== undefined) return `no view: ${r.death}`;
  const made = r.made === undefined ? "" : ` (made in ${r.made.toFixed(2)} s)`;
  const drawn = r.drawn ? ` [${r.drawn}]` : "";
  return `drawn after ${r.seconds.toFixed(2)} s${made}, pan ${r.fps.toFixed(0)} frames/s${drawn}`;
}

function say(name, snapshot, r) {
  const size = r.bytes === undefined ? "" : `${(r.bytes / 1e6).toFixed(2)} MB opened, `;
  const memory = r.peak === undefined ? "" : `, page's process at most ${r.peak.toFixed(0)} MiB`;
  console.log(`${path.basename(snapshot)} ${name}: ${size}${timesOf(r)}${memory}`);
}

const reason = whyNot();
if (reason) {
  console.log(`not measured beside PyTorch's viewer: ${reason}`);
  process.exit(0);
}
const [stormlog, d3, ...snapshots] = process.argv.slice(2);
for (const snapshot of snapshots) {
  say("stormlog", snapshot, await measurePage(stormlog, snapshot));
  say("viewer  ", snapshot, await measureViewer(snapshot, d3));
}
