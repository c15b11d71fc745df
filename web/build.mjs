// Builds web/dist/report.html: one file, its own script and style, allowed by their hashes alone.
// --check compares with what is checked in instead of writing.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import path from "node:path";
import esbuild from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const at = (...parts) => path.join(here, ...parts);
const LIMIT = 250 * 1024;

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** The licences of what the page embeds ask for their notices in every copy. */
function notices() {
  const { dependencies } = JSON.parse(readFileSync(at("package.json"), "utf8"));
  const parts = Object.entries(dependencies).map(([name, version]) => {
    const licence = readFileSync(at("node_modules", name, "LICENSE"), "utf8").trim();
    return `This page contains ${name} ${version}:\n\n${licence.replaceAll("\r", "")}`;
  });
  const text = parts.join("\n\n");
  if (text.includes("--")) throw new Error("a notice holds text that would end its comment");
  return text;
}

async function bundle() {
  const shared = {
    bundle: true,
    minify: true,
    write: false,
    charset: "ascii",
    legalComments: "none", // notices() has them, whole
    logLevel: "warning",
  };
  const script = await esbuild.build({
    ...shared,
    entryPoints: [at("src/main.ts")],
    format: "iife",
    target: ["chrome100", "firefox113", "safari16.4"],
  });
  const uplotCss = readFileSync(at("node_modules/uplot/dist/uPlot.min.css"), "utf8");
  return {
    script: script.outputFiles[0].text.trim(),
    style: await packedCss(uplotCss + readFileSync(at("src/style.css"), "utf8")),
    dark: await packedCss(readFileSync(at("src/dark.css"), "utf8")),
  };
}

async function packedCss(text) {
  const packed = await esbuild.transform(text, { loader: "css", minify: true, charset: "ascii" });
  return packed.code.trim();
}

function assemble({ script, style, dark }) {
  if (/<\/script|<!--/i.test(script))
    throw new Error("the script holds text that would end its own element");
  // img-src data: is for the empty icon, without which browsers ask for /favicon.ico.
  const csp = [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)} ${hash(dark)}`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const fill = { CSP: csp, STYLE: style, DARK: dark, SCRIPT: script, NOTICES: notices() };
  return readFileSync(at("src/index.html"), "utf8").replace(
    /%(CSP|STYLE|DARK|SCRIPT|NOTICES)%/g,
    (_, name) => fill[name],
  );
}

const page = assemble(await bundle());
const target = at("dist/report.html");
const size = Buffer.byteLength(page);
if (size > LIMIT) throw new Error(`the page takes ${size} bytes, its limit is ${LIMIT}`);
if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== page) {
    console.error("web/dist/report.html differs from its sources: run make web");
    process.exit(1);
  }
} else {
  mkdirSync(at("dist"), { recursive: true });
  writeFileSync(target, page);
  console.log(`web/dist/report.html ${size} bytes`);
}
