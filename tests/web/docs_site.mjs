// The documentation as a site, in Chromium: search finds, tables fit, nothing is asked of another
// host. Run by `make docs`, which makes the site first; DOCS_SITE is its folder.
import assert from "node:assert/strict";
import { createReadStream, existsSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { after, before, test } from "node:test";
import { ROOT, openBrowser, whyNot } from "./browser.mjs";

const SITE = path.resolve(process.env.DOCS_SITE ?? path.join(ROOT, "build/docs-site/site"));
const TYPES = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript" };
const skip = whyNot() ?? (existsSync(SITE) ? false : `${SITE} is not there: make docs`);

let server, browser, origin;
before(async () => {
  if (skip) return;
  // Search needs a server: browsers give pages from files no other file.
  server = createServer((request, response) => {
    const file = path.join(SITE, decodeURIComponent(new URL(request.url, "http://x").pathname));
    response.writeHead(existsSync(file) ? 200 : 404, {
      "content-type": TYPES[path.extname(file)] ?? "application/octet-stream",
    });
    if (existsSync(file)) createReadStream(file).pipe(response);
    else response.end();
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  origin = `http://127.0.0.1:${server.address().port}`;
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  server?.close();
});

async function open(name) {
  const page = await browser.context.newPage();
  const troubles = [];
  page.on("pageerror", (error) => troubles.push(`error: ${error}`));
  page.on("request", (r) => {
    if (!r.url().startsWith(origin) && !r.url().startsWith("data:")) troubles.push(r.url());
  });
  await page.goto(`${origin}/${name}`);
  return { page, troubles };
}

test("search finds a page by a word of it", { skip }, async () => {
  const { page, troubles } = await open("index.html");
  await page.click(".md-search__input");
  for (const [words, target] of [
    ["record_stream", /estimators|whatif/],
    ["forked children", /troubleshooting/],
  ]) {
    await page.fill(".md-search__input", "");
    await page.keyboard.type(words);
    await page.waitForFunction(
      (part) => new RegExp(part).test(document.querySelector(".md-search-result__list").innerHTML),
      target.source,
      { timeout: 60000 },
    );
  }
  await page.screenshot({ path: path.join(path.dirname(SITE), "search.png") });
  assert.deepEqual(troubles, []);
  await page.close();
});

test("no page is wider than the window, wide or narrow", { skip }, async () => {
  const names = readdirSync(SITE).filter((n) => n.endsWith(".html") && n !== "404.html");
  assert.ok(names.length > 20, `${names.length} pages`);
  for (const width of [1400, 420])
    for (const name of names) {
      const { page, troubles } = await open(name);
      await page.setViewportSize({ width, height: 900 });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${name}: ${wide} columns of pixels in a window of ${width}`);
      assert.deepEqual(troubles, [], name);
      await page.close();
    }
});
