// Exports opened by the programs they are for: Perfetto's own trace processor, speedscope itself,
// Go's pprof. Run by `make check-exports`, which puts the first two beside the build:
// check_exports.mjs with STORMLOG_EXPORT_TOOLS naming the folder. What is not there is skipped and
// named.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { openBrowser, whyNot } from "./browser.mjs";
import { analyze, data, stormlog } from "./report.mjs";

const TOOLS = path.resolve(process.env.STORMLOG_EXPORT_TOOLS ?? "build/check-exports");
const PERFETTO = path.join(TOOLS, "trace-processor");
const SPEEDSCOPE = path.join(TOOLS, "speedscope/dist/release");
const OUT = path.join(TOOLS, "out");
const CASES = readdirSync(data("h200"))
  .filter((n) => n.endsWith(".pickle.gz"))
  .map((n) => n.split(".")[0]);

rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });

const noBrowser = whyNot();
const skip = (folder, what) =>
  noBrowser ?? (existsSync(folder) ? false : `${what} is not in ${TOOLS}`);

let browser;
before(async () => {
  if (!noBrowser) browser = await openBrowser();
});
after(async () => {
  await browser?.close();
});

function exportOf(name, kind, extension, ...options) {
  const file = path.join(OUT, `${name}.${extension}`);
  const run = stormlog(
    "export",
    data("h200", `${name}.pickle.gz`),
    "--to",
    kind,
    "-o",
    file,
    ...options,
  );
  assert.equal(run.status, 0, run.stderr);
  return file;
}

// ---- Perfetto ----

const ORIGIN = "http://trace-processor.invalid";

/** Holds the trace processor in a worker, as Perfetto's own page does, and answers queries. */
async function openTraceProcessor() {
  const page = await browser.context.newPage();
  // The 64-bit module is not shipped with it, so the worker must not choose it.
  const worker = readFileSync(path.join(PERFETTO, "engine_bundle.node.js"), "utf8").replace(
    "this.useMemory64 = hasMemory64Support()",
    "this.useMemory64 = false",
  );
  const files = {
    "/": ["text/html", "<!doctype html><title>trace processor</title>"],
    "/worker.js": ["text/javascript", worker],
    "/engine.mjs": ["text/javascript", readFileSync(path.join(PERFETTO, "engine.mjs"))],
    "/trace_processor.wasm": [
      "application/wasm",
      readFileSync(path.join(PERFETTO, "trace_processor.wasm")),
    ],
  };
  await page.route("**", (route) => {
    const found = files[new URL(route.request().url()).pathname];
    return found ? route.fulfill({ contentType: found[0], body: found[1] }) : route.abort();
  });
  await page.goto(`${ORIGIN}/`);
  await page.evaluate(async () => {
    globalThis.process = { env: { NODE_ENV: "production" } };
    const { EngineBase } = await import("/engine.mjs");
    class Engine extends EngineBase {
      constructor(port) {
        super();
        this.mode = "WASM";
        this.id = "worker";
        this.port = port;
        port.onmessage = (m) => this.onRpcResponseBytes(m.data);
      }
      rpcSendRequestBytes(bytes) {
        this.port.postMessage(bytes);
      }
    }
    const channel = new MessageChannel();
    new Worker("/worker.js").postMessage(channel.port1, [channel.port1]);
    // Requests that arrive before the module is ready are lost.
    await new Promise((done) => setTimeout(done, 3000));
    globalThis.engine = new Engine(channel.port2);
  });
  return page;
}

/** Loads a trace and answers with the rows of each query. */
async function queryTrace(file, queries) {
  const page = await openTraceProcessor();
  const bytes = readFileSync(file).toString("base64");
  const answers = await page.evaluate(
    async ({ bytes, queries }) => {
      await engine.parse(Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0)));
      await engine.notifyEof();
      const out = {};
      for (const [name, sql] of Object.entries(queries)) {
        const result = await engine.query(sql);
        if (result.error()) throw new Error(`${name}: ${result.error()}`);
        out[name] = [];
        for (const it = result.iter({}); it.valid(); it.next())
          out[name].push(
            Object.fromEntries(
              result
                .columns()
                .map((c) => [c, typeof it.get(c) === "bigint" ? Number(it.get(c)) : it.get(c)]),
            ),
          );
      }
      return out;
    },
    { bytes, queries },
  );
  await page.close();
  return answers;
}

const QUERIES = {
  troubles: "select name, value from stats where severity in ('error', 'data_loss') and value > 0",
  counters: `select process.name as process, track.name as name, track.unit as unit,
      count(*) as points, max(value) as highest,
      (select value from counter c where c.track_id = track.id
       order by ts desc, id desc limit 1) as last,
      min(ts) as first_ns, max(ts) as last_ns
    from process_counter_track track join process using (upid)
      join counter on counter.track_id = track.id group by track.id`,
  steps: `select process.name as process, count(*) as steps, min(dur) as shortest
    from slice join thread_track on slice.track_id = thread_track.id
      join thread using (utid) join process using (upid)
    where slice.name like 'step %' group by process.upid`,
  peaks: "select slice.name as name from slice where name like 'peak: %'",
};

for (const name of CASES)
  test(
    `perfetto: the trace processor reads ${name}`,
    { skip: skip(PERFETTO, "the trace processor") },
    async () => {
      const answers = await queryTrace(exportOf(name, "perfetto", "pftrace"), QUERIES);
      assert.deepEqual(answers.troubles, []);
      const { devices } = analyze(data("h200", `${name}.pickle.gz`));
      for (const device of devices) {
        const of = (counter) =>
          answers.counters.find(
            (c) => c.process === `device ${device.device}` && c.name === counter,
          );
        const live = of("live, as requested");
        assert.deepEqual(
          [live.highest, live.last],
          [device.peak_requested_bytes, device.live_requested_bytes],
          "live",
        );
        assert.deepEqual(
          [of("reserved").highest, of("reserved").last],
          [device.peak_reserved_bytes, device.reserved_bytes],
          "reserved",
        );
        assert.equal(live.unit, "bytes");
        assert.ok(
          live.first_ns >= device.first_time_us * 1000 &&
            live.last_ns <= device.last_time_us * 1000,
          "the input's own clock",
        );
        const sites = answers.counters.filter((c) => c.name.startsWith("live at "));
        assert.equal(
          sites.reduce((sum, c) => sum + c.last, 0),
          device.live_requested_bytes,
          "sites at the end",
        );
        const steps = answers.steps.find((s) => s.process === `device ${device.device}`);
        assert.equal(steps?.steps ?? 0, device.steps ?? 0, "steps");
        assert.ok(!steps || steps.shortest >= 0, "a step never ends");
      }
      assert.ok(answers.peaks.length >= 1);
    },
  );

// ---- speedscope ----

for (const name of CASES)
  test(
    `speedscope: the program itself opens ${name}`,
    { skip: skip(SPEEDSCOPE, "speedscope") },
    async () => {
      const text = readFileSync(exportOf(name, "speedscope", "json"), "utf8");
      const profiles = JSON.parse(text).profiles;
      const page = await browser.context.newPage();
      const troubles = [];
      page.on("pageerror", (e) => troubles.push(e.message));
      page.on("dialog", (d) => {
        troubles.push(d.message());
        void d.dismiss();
      });
      // As its own command does: a script that passes the file, named after the address.
      const script = path.join(OUT, `${name}.speedscope.js`);
      writeFileSync(
        script,
        `speedscope.loadFileFromBase64("memory.json", "${Buffer.from(text).toString("base64")}")`,
      );
      await page.goto(`file://${SPEEDSCOPE}/index.html#localProfilePath=${script}`);
      await page.waitForFunction(() => /\(\d+\/\d+\)/.test(document.body.innerText), null, {
        timeout: 30000,
      });
      const shown = await page.locator("body").innerText();
      assert.match(shown, new RegExp(`\\(\\d+/${profiles.length}\\)`));
      assert.ok(
        profiles.some((p) => shown.includes(p.name)),
        shown.slice(0, 200),
      );
      assert.doesNotMatch(shown, /Something went wrong|Unrecognized format/);
      await page.screenshot({ path: path.join(OUT, `${name}.speedscope.png`) });
      await page.close();
      assert.deepEqual(troubles, []);
    },
  );

// ---- pprof ----

const hasGo = spawnSync("go", ["version"]).status === 0;

/** The total of one sample type, as `go tool pprof -top` prints it. */
function pprofTotal(file, index) {
  const run = spawnSync(
    "go",
    ["tool", "pprof", "-top", "-nodecount=5", "-unit=bytes", `-sample_index=${index}`, file],
    { encoding: "utf8", env: { ...process.env, HOME: OUT, PPROF_TMPDIR: OUT } },
  );
  assert.equal(run.status, 0, run.stderr);
  const total = /of (\d+)(?:B|bytes)? total/.exec(run.stdout);
  assert.ok(total, run.stdout.slice(0, 400));
  return Number(total[1]);
}

for (const name of CASES)
  test(
    `pprof: go tool pprof reads ${name}`,
    { skip: hasGo ? false : "go is not installed" },
    () => {
      const { devices } = analyze(data("h200", `${name}.pickle.gz`));
      const total = (key) => devices.reduce((sum, d) => sum + d[key], 0);
      const atPeak = exportOf(name, "pprof", "peak.pb.gz", "--at", "peak");
      assert.equal(
        pprofTotal(atPeak, "inuse_space"),
        total("peak_requested_bytes"),
        "inuse_space at the peak",
      );
      const atEnd = exportOf(name, "pprof", "pb.gz");
      assert.equal(pprofTotal(atEnd, "alloc_objects"), total("allocs"), "alloc_objects");
    },
  );
