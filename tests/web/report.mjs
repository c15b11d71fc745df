// The program under test, as a user runs it.
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { ROOT } from "./browser.mjs";

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

export function analyze(...inputs) {
  return JSON.parse(stormlog("analyze", ...inputs, "--format", "json", "--top", "1000").stdout);
}

export const data = (...parts) => path.join(ROOT, "tests/data", ...parts);
