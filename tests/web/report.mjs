// The program under test, as a user runs it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { ROOT, axeProblems, openPage } from "./browser.mjs";

export const STORMLOG = path.resolve(process.env.STORMLOG ?? path.join(ROOT, "build/stormlog"));
/** Pages and screenshots stay there, to be looked at. */
export const OUT = path.resolve(
  process.env.STORMLOG_WEB_OUT ?? path.join(path.dirname(STORMLOG), "web-pages"),
);
mkdirSync(OUT, { recursive: true });

export function stormlog(...args) {
  return spawnSync(STORMLOG, args, { encoding: "utf8", maxBuffer: 1 << 28 });
}

export function makeReport(name, inputs, ...options) {
  const file = path.join(OUT, `${name}.html`);
  const run = stormlog("report", ...inputs, "-o", file, ...options);
  if (run.status !== 0)
    throw new Error(`report of ${inputs.join(" ")} ended with ${run.status}: ${run.stderr}`);
  return { file, said: run.stdout };
}

/** A new report in a page of its own; `done` closes it and fails if it complained. */
export async function openReport(context, name, inputs, ...options) {
  const { page, troubles } = await openPage(context, makeReport(name, inputs, ...options).file);
  return {
    page,
    done: async () => {
      await page.close();
      assert.deepEqual(troubles, []);
    },
  };
}

/** Nothing is wider than the window, and axe finds nothing. Keeps a picture. */
export async function checkLooks(page, panel, name) {
  const over = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  assert.ok(over <= 0, `the page is ${over} px too wide`);
  await page.locator(panel).screenshot({ path: path.join(OUT, `${name}.png`) });
  assert.deepEqual(await axeProblems(page), []);
}

export function analyze(...inputs) {
  return JSON.parse(stormlog("analyze", ...inputs, "--format", "json", "--top", "1000").stdout);
}

export const data = (...parts) => path.join(ROOT, "tests/data", ...parts);
