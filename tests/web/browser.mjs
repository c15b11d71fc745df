// Opens a page in Debian's Chromium and watches for what must never happen: an error, a request.
import { createRequire } from "node:module";
import { mkdtempSync, rmSync, existsSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const require = createRequire(path.join(ROOT, "web/package.json"));

export const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
];

export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** Why pages cannot be opened here, or null. */
export function whyNot() {
  if (!existsSync(CHROMIUM)) return `${CHROMIUM} is not installed`;
  if (!existsSync(path.join(ROOT, "web/node_modules/playwright-core")))
    return "web/node_modules is not there: run npm ci in web/";
  return null;
}

export async function openBrowser(options = {}) {
  const { chromium } = require("playwright-core");
  const profile = mkdtempSync(path.join(tmpdir(), "stormlog-chromium-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM,
    args: FLAGS,
    viewport: { width: 1280, height: 900 },
    ...options,
  });
  return {
    context,
    close: async () => {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

/**
 * A page, its file opened, with everything it complained about or asked for. `before` runs in it
 * first.
 */
export async function openPage(context, file, before = null) {
  const page = await context.newPage();
  const url = pathToFileURL(file).href;
  const troubles = [];
  page.on("console", (m) => {
    if (["error", "warning"].includes(m.type())) troubles.push(`console: ${m.text()}`);
  });
  page.on("pageerror", (e) => troubles.push(`exception: ${e.message}`));
  page.on("request", (r) => {
    if (r.url() !== url && !r.url().startsWith("data:,")) troubles.push(`request: ${r.url()}`);
  });
  if (before) await page.addInitScript(before);
  await page.goto(url, { timeout: 60000 }); // a busy machine takes its time
  // A page is drawn when it is loaded: nothing waits for a frame or a later task.
  if ((await page.locator("html[data-ready]").count()) === 0)
    throw new Error(`${file} is loaded but not drawn`);
  return { page, troubles };
}

/** The views that this page offers, in their order. */
export async function tabsOf(page) {
  const ids = await page.locator('[role="tab"]:visible').evaluateAll((all) => all.map((t) => t.id));
  return ids.map((id) => id.replace(/^tab-/, ""));
}

function axeSource() {
  return require("axe-core").source;
}

/** What axe finds wrong for people who cannot see the page or use a mouse: one line each. */
export async function axeProblems(page) {
  await page.evaluate(axeSource());
  return page.evaluate(async () =>
    (await window.axe.run(document, { resultTypes: ["violations"] })).violations.map(
      (v) =>
        `${v.id}: ${v.nodes
          .slice(0, 3)
          .map((n) => n.html.slice(0, 160))
          .join(" | ")}`,
    ),
  );
}
