// Bundles a module of the page's sources in memory and imports it: Node of Debian 12 reads no
// TypeScript.
import { createRequire } from "node:module";
import path from "node:path";
import { ROOT } from "./browser.mjs";

export async function loadModel(name) {
  const esbuild = createRequire(path.join(ROOT, "web/package.json"))("esbuild");
  const built = esbuild.buildSync({
    entryPoints: [path.join(ROOT, "web/src", name)],
    bundle: true,
    write: false,
    format: "esm",
    target: "node18",
    logLevel: "error",
  });
  return import(
    `data:text/javascript;base64,${Buffer.from(built.outputFiles[0].contents).toString("base64")}`
  );
}
