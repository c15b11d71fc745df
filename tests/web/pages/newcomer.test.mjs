// What somebody who opens a page for the first time meets: the answer on the first screen, names
// they know, nothing that overlaps, nothing that leads nowhere.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { ROOT, openBrowser, openPage } from "../browser.mjs";
import { OUT, data, makeReport } from "../report.mjs";

const LAPTOP = { width: 1400, height: 900 };
const h200 = (name) => data("h200", `${name}.pickle.gz`);
const LEAK = h200("s2_retention");
let browser;
before(async () => {
  browser = await openBrowser({ viewport: LAPTOP });
});
after(async () => {
  await browser.close();
});

async function withPage(file, work, beforeScript = null) {
  const { page, troubles } = await openPage(browser.context, file, beforeScript);
  try {
    await work(page);
  } finally {
    await page.close();
  }
  assert.deepEqual(troubles, []);
}

/** Opens an address as somebody who was sent it. */
async function withAddress(file, hash, work) {
  const page = await browser.context.newPage();
  try {
    await page.goto(pathToFileURL(file).href + hash);
    await page.locator("html[data-ready]").waitFor({ state: "attached" });
    await work(page);
  } finally {
    await page.close();
  }
}

const hashOf = (page) => page.evaluate(() => location.hash);
const selectedTab = (page) => page.locator('[role="tab"][aria-selected="true"]').innerText();
const tabNames = (page) => page.locator('[role="tab"]:visible').allInnerTexts();

// ---- the first screen

for (const [name, inputs] of [
  ["two-findings", [LEAK]],
  ["oom-three-findings", [h200("s5_oom")]],
  ["oom-recording", [data("slog", "oom.slog.xz")]],
  ["telemetry", [data("peer", "leaky/events.json")]],
  ["diff", [h200("s4_fixed"), LEAK, "--diff"]],
])
  test(`the verdict, the fix and the chart are on the first screen: ${name}`, async () => {
    const paths = inputs.filter((i) => !i.startsWith("--"));
    const options = inputs.filter((i) => i.startsWith("--"));
    const { file } = makeReport(`newcomer-${name}`, paths, ...options);
    await withPage(file, async (page) => {
      await page.screenshot({ path: path.join(OUT, `newcomer-${name}.png`) });
      for (const part of [
        ".verdict .lead",
        ".verdict .fix",
        "section .plot",
        "#timeline-readout",
      ]) {
        const box = await page.locator(part).first().boundingBox();
        assert.ok(box && box.height > 0, `${part} is not there`);
        const bottom = Math.round(box.y + box.height);
        assert.ok(bottom <= LAPTOP.height, `${part} ends at ${bottom} of ${LAPTOP.height}`);
      }
      assert.ok((await page.locator("section .plot").first().boundingBox()).height > 200);
    });
  });

test("a failure because of a leak names the leak's fix", async () => {
  await withPage(makeReport("newcomer-oom", [h200("s5_oom")]).file, async (page) => {
    const fix = await page.locator(".verdict .fix").innerText();
    assert.doesNotMatch(fix, /its finding names/);
    assert.ok((await page.locator('.card[data-kind="leak"]').innerText()).includes(fix));
    await page.locator(".verdict .also button").first().click();
    const focused = await page.evaluate(() => document.activeElement.dataset.kind);
    assert.equal(focused, "leak", "the line leads to its card");
  });
});

// ---- the title

test("the title is the command and the run, or the file's name without its path", async () => {
  const { file } = makeReport("newcomer-title", [data("slog", "oom.slog.xz")]);
  await withPage(file, async (page) => {
    assert.equal(await page.title(), "python3 oom.py, run slog");
    assert.equal(await page.locator("h1").innerText(), "python3 oom.py, run slog");
  });
  await withPage(makeReport("newcomer-leak", [LEAK]).file, async (page) => {
    assert.equal(await page.title(), "s2_retention.pickle.gz");
    assert.match(await page.locator(".identity").innerText(), /h200\/s2_retention\.pickle\.gz$/);
  });
});

// ---- a comparison

test("a comparison starts with what changed and shows both curves", async () => {
  const { file } = makeReport("newcomer-diff", [h200("s4_fixed"), LEAK], "--diff");
  await withPage(file, async (page) => {
    assert.equal(await page.title(), "s4_fixed.pickle.gz to s2_retention.pickle.gz");
    const lead = await page.locator(".verdict .lead").innerText();
    assert.equal(lead, "+400 MiB peak at s2_retention.py:5");
    assert.match(await page.locator("section .legend").first().innerText(), /before: s4_fixed/);
    assert.match(await page.locator(".tiles").innerText(), /\+400 MiB, was 95\.8 MiB/);
    assert.ok((await pixelsNear(page, "--s1")) > 500, "the other curve is drawn");
  });
  const turned = makeReport("newcomer-diff-back", [LEAK, h200("s4_fixed")], "--diff").file;
  await withPage(turned, async (page) => {
    const lead = await page.locator(".verdict .lead").innerText();
    assert.equal(lead, "-400 MiB peak at s2_retention.py:5");
    assert.ok(await page.locator(".verdict.good").count(), "less memory is good news");
  });
});

/** Pixels of the timeline in (nearly) a colour of the style sheet. */
function pixelsNear(page, name) {
  return page.evaluate((variable) => {
    const hex = getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
    const n = parseInt(hex.slice(1), 16);
    const canvas = document.querySelector("section .plot canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let cnt = 0;
    for (let i = 0; i < data.length; i += 4) {
      const off =
        Math.abs(data[i] - (n >> 16)) +
        Math.abs(data[i + 1] - ((n >> 8) & 255)) +
        Math.abs(data[i + 2] - (n & 255));
      cnt += data[i + 3] > 200 && off < 90 ? 1 : 0;
    }
    return cnt;
  }, name);
}

// ---- telemetry

test("telemetry is one line without a mark per sample, and has no empty tab", async () => {
  const { file } = makeReport("newcomer-telemetry", [data("peer", "leaky/events.json")]);
  await withPage(file, async (page) => {
    assert.deepEqual(await tabNames(page), ["Ledger", "About the data"]);
    await page.click("#tab-about");
    assert.match(await page.locator("#panel-about").innerText(), /not single allocations/);
    // The accent colour is that of named points; the one dashed line is the chosen moment.
    const strokes = await page.evaluate(() => {
      const hex = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
      const n = parseInt(hex.slice(1), 16);
      const canvas = document.querySelector("section .plot canvas");
      const { width, height } = canvas;
      const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
      const columns = new Set();
      for (let y = 0; y < height / 4; y++)
        for (let x = 0; x < width; x++) {
          const i = 4 * (y * width + x);
          const off =
            Math.abs(data[i] - (n >> 16)) +
            Math.abs(data[i + 1] - ((n >> 8) & 255)) +
            Math.abs(data[i + 2] - (n & 255));
          if (data[i + 3] > 120 && off < 60) columns.add(x);
        }
      return columns.size;
    });
    assert.ok(strokes <= 6, `${strokes} columns with strokes`);
  });
});

/** Two samples far apart: on their way there is no step. */
test("between two samples the line is straight", async () => {
  const file = path.join(OUT, "two-samples.json");
  const at = (seconds, bytes) => ({
    schema_version: 2,
    timestamp_ns: 1_700_000_000_000_000_000 + seconds * 1e9,
    event_type: "sample",
    collector: "stormlog.cuda_tracker",
    sampling_interval_ms: 1000,
    pid: 1,
    host: "vm",
    job_id: null,
    rank: 0,
    local_rank: 0,
    world_size: 1,
    device_id: 0,
    allocator_allocated_bytes: bytes,
    allocator_reserved_bytes: bytes,
    allocator_active_bytes: null,
    allocator_inactive_bytes: null,
    allocator_change_bytes: 0,
    device_used_bytes: bytes,
    device_free_bytes: null,
    device_total_bytes: null,
    context: null,
    metadata: {},
  });
  writeFileSync(file, JSON.stringify([at(0, 0), at(1, 1 << 20), at(10, 64 << 20)]));
  await withPage(makeReport("newcomer-two-samples", [file]).file, async (page) => {
    // Half-way between the last two samples the line is half-way up.
    const share = await page.evaluate(() => {
      const canvas = document.querySelector("section .plot canvas");
      const over = document.querySelector("section .plot .u-over").getBoundingClientRect();
      const box = canvas.getBoundingClientRect();
      const scale = canvas.width / box.width;
      const x = Math.round((over.left - box.left + over.width * 0.55) * scale);
      const { data } = canvas
        .getContext("2d")
        .getImageData(x, (over.top - box.top) * scale, 1, over.height * scale);
      const rows = data.length / 4;
      // The line is blue or one of those that lie on it; the grid is grey.
      const isGrey = (i) => Math.abs(data[i] - data[i + 2]) < 20;
      let top = 0;
      while (top < rows && (data[4 * top + 3] < 200 || isGrey(4 * top))) top++;
      return 1 - top / rows;
    });
    assert.ok(share > 0.4 && share < 0.6, `the line is at ${share.toFixed(2)} of the height`);
  });
});

// ---- the address

test("the selection is in the address, and opening the address restores it", async () => {
  const { file } = makeReport("newcomer-leak", [LEAK]);
  let hash = "";
  await withPage(file, async (page) => {
    assert.equal(await hashOf(page), "", "a fresh page has a plain address");
    await page.locator("section").getByText("By line", { exact: true }).click();
    await page.click("#tab-flame");
    await page.locator("section .plot").first().focus();
    await page.keyboard.press("+");
    await page.waitForFunction(
      () => /view=flame/.test(location.hash) && /from=/.test(location.hash),
    );
    hash = await hashOf(page);
    assert.match(hash, /by=line/);
  });
  await withAddress(file, hash, async (page) => {
    assert.equal(await selectedTab(page), "Flame graph");
    assert.match(await page.locator(".range").innerText(), /selected/);
    assert.ok(await page.locator('input[value="line"]').isChecked());
    await page.evaluate(() => (location.hash = "#view=sites"));
    await page.locator("#panel-sites tbody tr").first().waitFor();
    assert.match(await page.locator(".range").innerText(), /^Whole run/);
    await page.click("#tab-blocks");
    await page.waitForFunction(() => location.hash === "");
  });
});

test("an invalid address opens the page in its initial state", async () => {
  const { file } = makeReport("newcomer-leak", [LEAK]);
  const nonsense = "#lane=99&view=nowhere&axis=x&by=constructor&from=1e9&to=-5&at=x&%";
  await withAddress(file, nonsense, async (page) => {
    assert.equal(await selectedTab(page), "Blocks");
    assert.ok(await page.locator("section .plot canvas").first().isVisible());
  });
});

// ---- theme, help, editor

test("the theme switches, and the browser remembers it", async () => {
  const { file } = makeReport("newcomer-leak", [LEAK]);
  const ground = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const ink = (page) => page.evaluate(() => getComputedStyle(document.body).color);
  // The page follows a choice when it draws next.
  const until = async (is_so, what) => {
    const end = Date.now() + 60000;
    while (!(await is_so()) && Date.now() < end) await new Promise((go) => setTimeout(go, 20));
    assert.ok(await is_so(), what);
  };
  await withPage(file, async (page) => {
    const light = await ground(page);
    await page.getByLabel("Theme").selectOption("dark");
    await until(async () => (await ground(page)) !== light, "dark");
    const dark = await ground(page);
    assert.ok((await pixelsNear(page, "--live")) > 500, "the curve has the dark colour");
    await page.reload();
    await until(async () => (await ground(page)) === dark, "after a reload");
    await page.emulateMedia({ media: "print" });
    await until(async () => (await ink(page)) === "rgb(0, 0, 0)", "paper is never dark");
    await page.emulateMedia({ media: "screen", colorScheme: "dark" });
    await page.getByLabel("Theme").selectOption("light");
    await until(async () => (await ground(page)) === light, "against the system");
    await page.getByLabel("Theme").selectOption("system");
    await until(async () => (await ground(page)) === dark, "as the system");
  });
});

test("keys are explained in a dialog, which Escape closes", async () => {
  await withPage(makeReport("newcomer-leak", [LEAK]).file, async (page) => {
    const dialog = page.locator("dialog");
    assert.equal(await dialog.isVisible(), false);
    await page.keyboard.press("?");
    assert.match(await dialog.innerText(), /Pan left[\s\S]*Zoom in[\s\S]*highest point/);
    await page.keyboard.press("Escape");
    assert.equal(await dialog.isVisible(), false);
    await page.getByRole("button", { name: "Keys" }).click();
    await dialog.getByRole("button", { name: "Close" }).click();
    assert.equal(await dialog.isVisible(), false);
    await page.click("#tab-sites");
    await page.locator("#panel-sites input").fill("?");
    assert.equal(await dialog.isVisible(), false, "not while somebody types");
  });
});

test("lines are links to an editor once one is chosen", async () => {
  await withPage(makeReport("newcomer-leak", [LEAK]).file, async (page) => {
    const place = page.locator(".card a.place").first();
    assert.equal(await place.getAttribute("href"), null);
    await page.getByRole("button", { name: "Keys" }).click();
    await page.getByLabel("Open file:line in").selectOption("vscode");
    await page.keyboard.press("Escape");
    assert.equal(
      await place.getAttribute("href"),
      "vscode://file/home/user/train/s2_retention.py:5",
    );
    await page.click("#tab-sites");
    await page.locator("#panel-sites tbody button").first().click();
    assert.ok((await page.locator("#panel-sites .stack a[href]").count()) > 0, "stacks too");
    await page.getByRole("button", { name: "Keys" }).click();
    await page.getByLabel("Open file:line in").selectOption("");
    assert.equal(await page.locator("a[href]").count(), 0);
  });
});

// ---- labels

/** In the page, before its own script: where every text is drawn on which canvas. */
function watchTexts() {
  const texts = new WeakMap();
  const proto = CanvasRenderingContext2D.prototype;
  const fillText = proto.fillText;
  const of = (canvas) => {
    if (!texts.has(canvas)) texts.set(canvas, []);
    return texts.get(canvas);
  };
  proto.fillText = function (text, x, y, ...rest) {
    const m = this.getTransform();
    const size = this.measureText(text);
    const [left, right] = [x - size.actualBoundingBoxLeft, x + size.actualBoundingBoxRight];
    const [top, bottom] = [y - size.actualBoundingBoxAscent, y + size.actualBoundingBoxDescent];
    // A turned label does not occur; uPlot rotates by 0.
    const to = (px, py) => new DOMPoint(px, py).matrixTransform(m);
    const [a, b] = [to(left, top), to(right, bottom)];
    if (text.trim() !== "")
      of(this.canvas).push({ text, left: a.x, top: a.y, right: b.x, bottom: b.y });
    return fillText.call(this, text, x, y, ...rest);
  };
  const clearRect = proto.clearRect;
  proto.clearRect = function (...box) {
    texts.set(this.canvas, []); // uPlot clears the whole canvas before it draws
    return clearRect.apply(this, box);
  };
  for (const side of ["width", "height"]) {
    const { get, set } = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, side);
    Object.defineProperty(HTMLCanvasElement.prototype, side, {
      get,
      set(value) {
        texts.set(this, []);
        set.call(this, value);
      },
    });
  }
  window.textTroubles = () => {
    const found = [];
    for (const canvas of document.querySelectorAll("canvas")) {
      if (canvas.getClientRects().length === 0) continue;
      const all = of(canvas);
      all.forEach((a, i) => {
        if (a.left < -1 || a.right > canvas.width + 1) found.push(`clipped: ${a.text}`);
        for (const b of all.slice(i + 1))
          if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
            found.push(`${a.text} and ${b.text}`);
      });
      window.textCnt = (window.textCnt ?? 0) + all.length;
    }
    return found;
  };
}

for (const width of [1400, 390])
  test(`no label overlaps another one or is cut off: ${width} pixels`, async () => {
    const own = await openBrowser({ viewport: { width, height: 900 } });
    try {
      for (const [name, inputs] of [
        ["leak", [LEAK]],
        ["oom", [h200("s5_oom")]],
        ["marked", [data("corpus", "x7_annotations.pickle.gz")]],
        ["recording", [data("slog", "oom.slog.xz")]],
        ["ledger", [data("slog", "nccl.slog.xz")]],
        ["several", [LEAK, h200("s3_baseline"), h200("s4_fixed")]],
        ["failures", [failures()]],
        ["days", [days()]],
      ]) {
        const { file } = makeReport(`newcomer-labels-${name}`, inputs);
        const { page, troubles } = await openPage(own.context, file, watchTexts);
        for (const tab of await page.locator('[role="tab"]:visible').all()) {
          await tab.click();
          const found = await page.evaluate(() => window.textTroubles());
          assert.deepEqual(found, [], `${name}, ${await tab.innerText()}`);
        }
        for (const zoom of ["+", "+", "+"]) {
          await page.locator("section .plot").first().focus();
          await page.keyboard.press(zoom);
          await page.waitForTimeout(50);
          assert.deepEqual(await page.evaluate(() => window.textTroubles()), [], `${name} zoomed`);
        }
        assert.ok((await page.evaluate(() => window.textCnt)) > 20, `${name}: texts were seen`);
        await page.close();
        assert.deepEqual(troubles, []);
      }
    } finally {
      await own.close();
    }
  });

function made(name) {
  const folder = path.join(OUT, "newcomer-inputs");
  mkdirSync(folder, { recursive: true });
  const run = spawnSync(
    "/usr/bin/python3",
    [path.join(ROOT, "tests/web/make_inputs.py"), folder, "--only", name],
    { encoding: "utf8" },
  );
  assert.equal(run.status, 0, run.stderr);
  return path.join(folder, `${name}.pickle`);
}
/** Six requests that failed one after the other. */
const failures = () => made("failures");
/** A run of three days. */
const days = () => made("days");

// ---- blocks, and everything else

test("blocks of one line can be distinguished", async () => {
  await withPage(makeReport("newcomer-same-line", [made("same_line")]).file, async (page) => {
    // Sixteen blocks of one line and equal size on each other, all live at the end, with blocks of
    // another line in between: going up, the colour changes at each of them.
    const changes = await page.evaluate(() => {
      const canvas = document.querySelector("#panel-blocks .plot canvas");
      const over = document.querySelector("#panel-blocks .plot .u-over").getBoundingClientRect();
      const box = canvas.getBoundingClientRect();
      const scale = canvas.width / box.width;
      const x = Math.round((over.left - box.left + over.width - 4) * scale);
      const { data } = canvas
        .getContext("2d")
        .getImageData(x, (over.top - box.top) * scale, 1, over.height * scale);
      const pixels = new Uint32Array(data.buffer);
      let cnt = 0;
      for (let y = 1; y < pixels.length; y++) cnt += pixels[y] !== pixels[y - 1] ? 1 : 0;
      return cnt;
    });
    assert.ok(changes >= 16, `${changes} changes of colour`);
  });
});

test("the group of all other lines is less than a quarter, and its size is shown", async () => {
  await withPage(makeReport("newcomer-even", [made("even_lines")]).file, async (page) => {
    const { groups } = await page.evaluate(
      () => JSON.parse(document.getElementById("meta").textContent).lanes[0],
    );
    // 36 lines of 1 MiB: 11 of them would leave 69 % for the rest.
    assert.ok(groups.line.length >= 27, `${groups.line.length} groups`);
    const rest = groups.line.at(-1);
    assert.ok(rest.is_rest);
    assert.match(rest.label, /^\d more, the largest 1\.00 MiB$/);
    await page.locator("section").getByText("By line", { exact: true }).click();
    await page
      .locator("section .legend")
      .first()
      .filter({ hasText: /more, the largest/ })
      .waitFor();
  });
});
