# SPDX-License-Identifier: MIT
"""`stormlog agent` pushing to a sink of our own: every figure, every failure."""

import os
import random
import re
import socket
import ssl
import struct
import subprocess
import time
from pathlib import Path

import agent_kit as kit
import tap

kit.needs("libcurl")


def series_of(samples, name, labels):
    """{time: value} of one series; a point that came twice must be the same twice."""
    found = {}
    for its_name, its, value, at in samples:
        if its_name == name and all(its.get(key) == str(wanted) for key, wanted in labels.items()):
            tap.equal(found.setdefault(at, value), value, f"{name} at {at}, sent again")
    return found


def check_fleet(samples, start_ms, ranks, first, last, leak=-1, what=""):
    """Every point of seconds first..last is there and is what the formula says: the value at the end of the second, the
    spike within it, and its last step or the one that begins there."""
    for rank in range(ranks):
        values = series_of(samples, "stormlog_memory_bytes", {"rank": rank, "kind": "tensors"})
        peaks = series_of(samples, "stormlog_peak_bytes", {"rank": rank, "kind": "tensors"})
        steps = series_of(samples, "stormlog_step", {"rank": rank})
        for second in range(first, last):
            at, where = start_ms + (second + 1) * 1000, f"{what} rank {rank}, second {second}"
            tap.equal(values.get(at), kit.tensors(rank, second, leak), f"tensors: {where}")
            tap.equal(peaks.get(at), kit.tensors(rank, second, leak) + kit.SPIKE, f"true peak: {where}")
            tap.true(steps.get(at) in (second * 10 + 9, second * 10 + 10), f"step {steps.get(at)}: {where}")


@tap.test("pushed figures are the recording's, every second once, with peaks of 20 ms")
def _(folder):
    start = kit.make_fleet(f"{folder}/runs", ranks=3, past=40, leak=1)
    with kit.Sink() as sink:
        done = kit.agent(f"{folder}/state", "--once", "--push", sink.url, "--label", "cluster=c1", f"{folder}/runs")
        tap.equal((done.returncode, done.stderr), (0, ""), "the agent")
        samples = sink.samples()
        check_fleet(samples, start, 3, 0, 40, leak=1)
        keys = [(name, tuple(sorted(labels.items())), at) for name, labels, _, at in samples]
        tap.equal(len(keys), len(set(keys)), "samples, none twice")
        tap.equal(sink.requests[0][0], "/api/v1/import/prometheus", "path")
        tap.true(all(labels["cluster"] == "c1" for _, labels, _, _ in samples), "the user's label is everywhere")
        ledger = {kind: kit.pick(samples, "stormlog_memory_bytes", rank=0, kind=kind)[start + 5000] for kind in
                  ("tensors", "cache", "libraries", "context", "other-processes", "driver", "rest")}
        used = kit.pick(samples, "stormlog_device_used_bytes", rank=0)[start + 5000]
        tap.equal(sum(ledger.values()), used, "the rows of the ledger add up to the card")
        per_rank = {(name, labels.get("kind")) for name, labels, _, _ in samples if labels["rank"] == "0"}
        tap.true(len(per_rank) <= 24, f"at most 24 series: {len(per_rank)}")
        again = kit.agent(f"{folder}/state", "--once", "--push", sink.url, f"{folder}/runs")
        tap.equal((again.returncode, len(sink.samples())), (0, len(samples)), "a second agent has nothing to send")


def unsnappy(data):
    """One block of the snappy format, written down from its description."""
    length = shift = at = 0
    while True:
        byte, at = data[at], at + 1
        length |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    out = bytearray()
    while at < len(data):
        tag, at = data[at], at + 1
        size = tag >> 2
        if tag & 3 == 0:
            if size >= 60:
                extra = size - 59
                size, at = int.from_bytes(data[at:at + extra], "little"), at + extra
            out += data[at:at + size + 1]
            at += size + 1
            continue
        if tag & 3 == 1:
            offset, size, at = (tag >> 5) << 8 | data[at], (size & 7) + 4, at + 1
        else:
            width = 2 if tag & 3 == 2 else 4
            offset, size, at = int.from_bytes(data[at:at + width], "little"), size + 1, at + width
        for _ in range(size):
            out.append(out[-offset])
    tap.equal(len(out), length, "unpacked bytes")
    return bytes(out)


def fields(data):
    """(number, value) of a message: integers, 8 bytes, or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 1:
            yield key >> 3, struct.unpack("<d", data[at:at + 8])[0]
            at += 8
        else:
            size = varint()
            yield key >> 3, data[at:at + size]
            at += size


def decode_write(body):
    """The samples of a remote-write request."""
    samples = []
    for _, series in fields(unsnappy(body)):
        labels, values = [], []
        for number, part in fields(series):
            pair = dict(fields(part))
            if number == 1:
                labels.append((pair[1].decode(), pair[2].decode()))
            else:
                values.append((pair[1], pair[2]))
        tap.equal(labels, sorted(labels), "labels in order")
        names = dict(labels)
        samples += [(names["__name__"], {k: v for k, v in names.items() if k != "__name__"}, value, at) for value, at in values]
    return samples


@tap.test("remote write sends the same samples")
def _(folder):
    kit.make_fleet(f"{folder}/runs", ranks=2, past=20)
    with kit.Sink() as sink:
        tap.equal(kit.agent(f"{folder}/a", "--once", "--push", sink.url, f"{folder}/runs").returncode, 0, "text")
        text, sink.requests[:] = sink.samples(), []
        done = kit.agent(f"{folder}/b", "--once", "--remote-write", sink.url, f"{folder}/runs")
        if "libsnappy" in done.stderr:
            tap.skip("libsnappy is not installed")
        tap.equal((done.returncode, done.stderr), (0, ""), "remote write")
        path, headers, _ = sink.requests[0]
        tap.equal((path, headers["Content-Encoding"], headers["X-Prometheus-Remote-Write-Version"]),
                  ("/api/v1/write", "snappy", "0.1.0"), "request")
        written = [sample for _, _, body in sink.requests for sample in decode_write(body)]

    def key(sample):
        return sample[0], sorted(sample[1].items()), sample[3], sample[2]
    tap.equal(sorted(map(key, written)), sorted(map(key, text)), "samples")


@tap.test("429 and 503 are tried again, and nothing is lost or sent twice")
def _(folder):
    start = kit.make_fleet(f"{folder}/runs", ranks=2, past=10)
    with kit.Sink() as sink:
        sink.answers[:] = [429, 503]
        done = kit.agent(f"{folder}/state", "--once", "--push", sink.url, f"{folder}/runs")
        tap.equal(done.returncode, 0, f"exit code ({done.stderr})")
        tap.contains(done.stderr, "answered 429")
        check_fleet(sink.samples(), start, 2, 0, 10)
        tap.equal(len(sink.requests), 3, "requests")


@tap.test("a point that the sink refuses is left out and counted; all others arrive")
def _(folder):
    start = kit.make_fleet(f"{folder}/runs", ranks=3, past=20)
    bad = str(start + 7000)
    with kit.Sink() as sink:
        sink.refuses = lambda text: any('rank="1"' in line and line.endswith(bad) for line in text.splitlines())
        done = kit.agent(f"{folder}/state", "--once", "--push", sink.url, f"{folder}/runs")
        tap.equal(done.returncode, 0, f"exit code ({done.stderr})")
        tap.contains(done.stderr, "answered 400")
        samples = sink.samples()
        check_fleet([s for s in samples if s[1]["rank"] in "02"], start, 1, 0, 20)
        times = set(kit.pick(samples, "stormlog_step", rank=1))
        tap.equal({start + s * 1000 for s in range(1, 21)} - times, {start + 7000}, "missing points of rank 1")
        steps = [at for name, labels, _, at in samples if name == "stormlog_step" and labels["rank"] == "0"]
        tap.equal(len(steps), len(set(steps)), "points of rank 0, none twice")


@tap.test("a wrong token or path is not about the data: everything is kept and sent later")
def _(folder):
    start = kit.make_fleet(f"{folder}/runs", ranks=1, past=10)
    Path(f"{folder}/token").write_text("s3cret\n")
    with kit.Sink() as sink:
        sink.answers[:] = [401] * 50
        done = kit.agent(f"{folder}/state", "--once", "--timeout", "1s", "--push", sink.url, f"{folder}/runs")
        tap.equal(done.returncode, 4, "exit code")
        tap.contains(done.stderr, "answered 401")
        tap.equal(done.stderr.count("answered 401"), 2, "said once, and at the end")
        sink.answers[:] = []
        done = kit.agent(f"{folder}/state", "--once", "--push", sink.url, "--token-file", f"{folder}/token", f"{folder}/runs")
        tap.equal(done.returncode, 0, "exit code with the token")
        tap.equal(sink.requests[-1][1]["Authorization"], "Bearer s3cret", "header")
        check_fleet(sink.samples(), start, 1, 0, 10)


def answer_raw(data, wait=0):
    def answer(handler):
        handler.wfile.write(data)
        handler.wfile.flush()
        time.sleep(wait)
        handler.close_connection = True
        handler.connection.shutdown(socket.SHUT_RDWR)
    return answer


@tap.test("a sink that answers garbage, slowly, too much, or never")
def _(folder):
    start = kit.make_fleet(f"{folder}/runs", ranks=1, past=10)
    with kit.Sink() as sink:
        sink.answers[:] = [answer_raw(b"SSH-2.0-OpenSSH\r\n"), answer_raw(b"HTTP/1.1 200 OK\r\nContent-Le", 1.0), answer_raw(b"", 1.0),
                           answer_raw(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 300000)]
        done = kit.agent(f"{folder}/state", "--once", "--request-timeout", "300ms", "--push", sink.url, f"{folder}/runs")
        tap.equal(done.returncode, 0, f"exit code ({done.stderr})")
        check_fleet(sink.samples(), start, 1, 0, 10)


@tap.test("a sink that is not there, and a URL that is none")
def _(folder):
    kit.make_fleet(f"{folder}/runs", ranks=1, past=5)
    url = f"http://127.0.0.1:{kit.free_port()}/x?token=s3cret"
    done = kit.agent(f"{folder}/state", "--once", "--timeout", "1s", "--push", url, f"{folder}/runs")
    tap.equal(done.returncode, 4, "exit code")
    tap.contains(done.stderr, "cannot push: http://127.0.0.1:")
    tap.true("s3cret" not in done.stderr, "the query of a URL is not shown")
    done = kit.agent(f"{folder}/state", "--once", "--push", "ftp://x/", f"{folder}/runs")
    tap.equal(done.returncode, 2, "exit code")
    tap.contains(done.stderr, "expected a URL that begins with http:// or https://, found 'ftp://x/'")


@tap.test("a certificate is checked")
def _(folder):
    start = kit.make_fleet(f"{folder}/runs", ranks=1, past=5)
    made = tap.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{folder}/key", "-out",
                    f"{folder}/cert"])
    if made.returncode:
        tap.skip(f"openssl cannot make a certificate: {made.stderr}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/cert", f"{folder}/key")
    with kit.Sink(context) as sink:
        push = ["--once", "--timeout", "1s", "--push", sink.url]
        done = kit.agent(f"{folder}/state", *push, f"{folder}/runs")
        tap.equal((done.returncode, sink.requests), (4, []), "a certificate that nobody signed")
        tap.contains(done.stderr.lower(), "certificate")
        done = kit.agent(f"{folder}/state", *push, "--ca-file", f"{folder}/cert", f"{folder}/runs")
        tap.equal(done.returncode, 0, f"with --ca-file ({done.stderr})")
        check_fleet(sink.samples(), start, 1, 0, 5)


@tap.test("kill -9 of the agent, again and again: no gap, and what comes twice is equal")
def _(folder):
    seed = random.randrange(1 << 30)
    random.seed(seed)
    with kit.Sink() as sink:
        with kit.live_fleet(f"{folder}/runs", ranks=4, past=5) as fleet:
            for _ in range(4):
                agent = kit.Agent(f"{folder}/state", "--batch", "200ms", "--scan", "200ms", "--push", sink.url,
                                  f"{folder}/runs", listen="none")
                before = len(sink.bodies)
                kit.wait_until(lambda seen=before: len(sink.bodies) > seen, "the agent pushes")
                time.sleep(random.random() * 0.5)
                agent.kill()
            start = fleet.start_ms
        done = kit.agent(f"{folder}/state", "--once", "--push", sink.url, f"{folder}/runs")
        tap.equal(done.returncode, 0, f"the rest ({done.stderr})")
        samples = sink.samples()
    last = max(at for _, _, _, at in samples)
    check_fleet(samples, start, 4, 0, (last - start) // 1000 - 1, what=f"seed {seed}")


@tap.test("the wall clock jumps by a day, back and forth, while the agent runs: no gap, and times are the recordings'")
def _(folder):
    tap.skip_if_sanitized(kit.STORMLOG)
    for jump in (-86400, 86400):
        runs, state = f"{folder}/runs{jump}", f"{folder}/state{jump}"
        with kit.Sink() as sink:
            with kit.live_fleet(runs, ranks=2, past=3) as fleet, \
                    kit.Agent(state, "--batch", "200ms", "--scan", "200ms", "--push", sink.url, runs,
                              LD_PRELOAD=f"{kit.BUILD}/tests/agent/libclock_jump.so", CLOCK_JUMP=str(jump)) as agent:
                def jumped(seen=agent, by=jump):
                    own = re.search(r"last_success_seconds\S* ([\d.e+]+)", seen.metrics_text())
                    return own and float(own[1]) and abs(float(own[1]) - time.time() - by) < 3600
                kit.wait_until(jumped, "the agent's wall clock jumps, and it pushes afterwards")
                newest = max(at for _, _, _, at in sink.samples())
                kit.wait_until(lambda seen=newest: max(at for _, _, _, at in sink.samples()) >= seen + 3000, "three seconds more arrive")
                samples, start = sink.samples(), fleet.start_ms
        last = max(at for _, _, _, at in samples)
        tap.true(last <= time.time() * 1000 + 2000, f"times are not those of the clock that jumped: {last}")
        check_fleet(samples, start, 2, 0, (last - start) // 1000 - 1, what=f"jump by {jump} s")


@tap.test("a recording whose process was killed ends with its last values and its state")
def _(folder):
    start = kit.make_fleet(f"{folder}/runs", ranks=1, past=10, end="killed")
    with kit.Sink() as sink:
        tap.equal(kit.agent(f"{folder}/state", "--once", "--push", sink.url, f"{folder}/runs").returncode, 0, "exit code")
        state = kit.pick(sink.samples(), "stormlog_state", rank=0)
        tap.equal(list(state.values()), [3.0], "state: killed")
        check_fleet(sink.samples(), start, 1, 0, 10)


@tap.test("an hour-old recording is sent as finely as it is kept, and every peak is in it")
def _(folder):
    start = kit.make_fleet(f"{folder}/runs", ranks=1, past=1500)
    with kit.Sink() as sink:
        tap.equal(kit.agent(f"{folder}/state", "--once", "--push", sink.url, f"{folder}/runs").returncode, 0, "exit code")
        peaks = kit.pick(sink.samples(), "stormlog_peak_bytes", rank=0, kind="tensors")
        check_fleet(sink.samples(), start, 1, 1452, 1499)
        ages = {start + 1500000 - at: value for at, value in peaks.items()}
        tap.true(sum(age > 900000 for age in ages) > 90, "points of the first minutes: one for every 6.4 s")
        tap.true(all(value >= kit.BASE + kit.SPIKE for age, value in ages.items() if age > 60000), "a spike in every point")
        tap.equal(max(peaks.values()), kit.tensors(0, 6) + kit.SPIKE, "the highest peak")


@tap.test("a job name that is hostile stays one label")
def _(folder):
    job = 'x"} 1\nup{a="\\\x1b[31m\u202e' + "y" * 40
    start = kit.make_fleet(f"{folder}/runs", ranks=1, past=5, job=job)
    with kit.Sink() as sink:
        tap.equal(kit.agent(f"{folder}/state", "--once", "--push", sink.url, f"{folder}/runs").returncode, 0, "exit code")
        check_fleet(sink.samples(), start, 1, 0, 5)
        tap.equal({labels["job"] for _, labels, _, _ in sink.samples()}, {'x"} 1?up{a="\\?[31m?' + "y" * 40}, "job")


@tap.test("two agents, a damaged cursor file, and a folder that is not there")
def _(folder):
    kit.make_fleet(f"{folder}/runs", ranks=1, past=5)
    with kit.Agent(f"{folder}/state", f"{folder}/runs") as first:
        done = kit.agent(f"{folder}/state", f"{folder}/runs")
        tap.equal(done.returncode, 3, "exit code of the second")
        tap.contains(done.stderr, f"another agent, process {first.process.pid}, uses the state folder")
        tap.equal(first.stop(), 0, "exit code of the first after SIGTERM")
    Path(f"{folder}/state/cursors").write_text("stormlog-agent-state 1\nnonsense\n")
    done = kit.agent(f"{folder}/state", f"{folder}/runs")
    tap.equal(done.returncode, 3, "exit code")
    tap.contains(done.stderr, "cursors', line 2: expected rec, at or label, found 'nonsense'")
    done = kit.agent(f"{folder}/other", f"{folder}/missing")
    tap.equal(done.returncode, 3, "exit code")
    tap.contains(done.stderr, "missing")


@tap.test("a full disk: the cursors cannot be kept, the data still arrives")
def _(folder):
    start = kit.make_fleet(f"{folder}/runs", ranks=2, past=5)
    os.mkdir(f"{folder}/state")
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", f"{folder}/state"],
                                      capture_output=True).returncode:
        tap.skip("a small file system cannot be mounted here")
    try:
        with kit.Sink() as sink:
            done = kit.agent(f"{folder}/state", "--once", "--push", sink.url, f"{folder}/runs")
            tap.equal(done.returncode, 0, "exit code")
            tap.contains(done.stderr, "cannot keep the cursors")
            check_fleet(sink.samples(), start, 2, 0, 5)
    finally:
        subprocess.run(["umount", f"{folder}/state"], check=True)


def jobs_of(sink):
    return {labels["job"] for _, labels, _, _ in sink.samples()}


@tap.test("a recording that gets the inode of one that was removed, or its place, is sent, too")
def _(folder):
    runs = Path(f"{folder}/runs")
    kit.make_fleet(f"{folder}/new", ranks=1, past=5, job="second")
    kit.make_fleet(runs, ranks=1, past=5, job="first")
    with kit.Sink() as sink, kit.Agent(f"{folder}/state", "--push", sink.url, "--scan", "100ms", "--batch", "100ms", "--linger", "0s",
                                       runs, listen="none"):
        kit.wait_until(lambda: jobs_of(sink) == {"first"}, "the first job")
        # As if the file had been removed and its inode given to the next one, which is up to the file system. The
        # agent has closed the recording when nobody maps it any more.
        (runs / "rank-0.slog").rename(f"{folder}/aside")
        (runs / "third").mkdir()
        kit.make_fleet(runs / "third", ranks=1, past=5, job="third")
        kit.wait_until(lambda: "third" in jobs_of(sink), "a scan without the first")
        Path(f"{folder}/aside").write_bytes(Path(f"{folder}/new/rank-0.slog").read_bytes())
        Path(f"{folder}/aside").rename(runs / "rank-0.slog")
        kit.wait_until(lambda: "second" in jobs_of(sink), "the job with the same inode")


@tap.test("a folder that is gone does not hide the other; a file that could not be read is read when it has changed")
def _(folder):
    for name in ("a", "b"):
        os.mkdir(f"{folder}/{name}")
    kit.make_fleet(f"{folder}/other", ranks=1, past=5, job="copied")
    whole = Path(f"{folder}/other/rank-0.slog").read_bytes()
    Path(f"{folder}/b/copy.slog").write_bytes(whole[:100])
    with kit.Sink() as sink, kit.Agent(f"{folder}/state", "--push", sink.url, "--scan", "100ms", "--batch", "100ms",
                                       f"{folder}/a", f"{folder}/b", listen="none") as agent:
        kit.wait_until(lambda: "copy.slog" in "".join(agent.said), "the file that cannot be read is named")
        os.rmdir(f"{folder}/a")
        kit.wait_until(lambda: "/a': No such file or directory" in "".join(agent.said), "the folder that is gone is named")
        Path(f"{folder}/b/copy.slog").write_bytes(whole)
        kit.wait_until(lambda: jobs_of(sink) == {"copied"}, "the file that is whole now")
        os.mkdir(f"{folder}/a")
        kit.make_fleet(f"{folder}/a", ranks=1, past=5, job="again")
        kit.wait_until(lambda: "again" in jobs_of(sink), "the folder that came back")
        tap.equal("".join(agent.said).count("copy.slog"), 1, "times the file is named")


@tap.test("--once: a sink that is down does not keep the data from the other, and is the one that is named")
def _(folder):
    start = kit.make_fleet(f"{folder}/runs", ranks=2, past=5)
    down = f"http://127.0.0.1:{kit.free_port()}"
    for number, order in enumerate(((0, 1), (1, 0))):
        with kit.Sink() as sink:
            urls = [(down, sink.url)[at] for at in order]
            done = kit.agent(f"{folder}/state{number}", "--once", "--timeout", "1s", "--push", urls[0], "--push", urls[1], f"{folder}/runs")
            tap.equal(done.returncode, 4, done.stderr)
            tap.contains(done.stderr, f"not everything was sent within 1 s: cannot push: {down}/api")
            check_fleet(sink.samples(), start, 2, 0, 5)
    agent = kit.Agent(f"{folder}/state", "--once", "--timeout", "50s", "--push", down, f"{folder}/runs", listen="none")
    kit.wait_until(lambda: agent.said, "the first failure")
    tap.equal(agent.stop(), 4, "exit code after SIGTERM")
    kit.wait_until(lambda: "not everything was sent before a signal stopped it: cannot push: " in "".join(agent.said), "the reason")


@tap.test("files that are not recordings, and one that is cut, do not stop the others")
def _(folder):
    start = kit.make_fleet(f"{folder}/runs", ranks=2, past=5)
    Path(f"{folder}/runs/text.slog").write_text("no recording")
    Path(f"{folder}/runs/empty.slog").touch()
    Path(f"{folder}/runs/cut.slog").write_bytes(Path(f"{folder}/runs/rank-1.slog").read_bytes()[:20000])
    os.mkfifo(f"{folder}/runs/pipe.slog")
    with kit.Sink() as sink:
        done = kit.agent(f"{folder}/state", "--once", "--push", sink.url, f"{folder}/runs")
        tap.equal(done.returncode, 0, "exit code")
        tap.equal(done.stderr.count("cannot read"), 3, f"files that are named: {done.stderr}")
        check_fleet(sink.samples(), start, 2, 0, 5)


@tap.test("recordings that were compacted meanwhile are sent to their end")
def _(folder):
    start = kit.make_fleet(f"{folder}/runs", ranks=1, past=20)
    tap.equal(tap.run([kit.STORMLOG, "compact", f"{folder}/runs"]).returncode, 0, "compact")
    with kit.Sink() as sink:
        done = kit.agent(f"{folder}/state", "--once", "--push", sink.url, f"{folder}/runs")
        tap.equal((done.returncode, done.stderr), (0, ""), "exit code")
        check_fleet(sink.samples(), start, 1, 0, 20)


@tap.test("a worker of a rank is not exported, unless it is asked for")
def _(folder):
    start = kit.make_fleet(f"{folder}/runs", ranks=2, past=5, worker=1)
    with kit.Sink() as sink:
        tap.equal(kit.agent(f"{folder}/a", "--once", "--push", sink.url, f"{folder}/runs").returncode, 0, "exit code")
        check_fleet(sink.samples(), start, 1, 0, 5)
        tap.equal({labels.get("device") for _, labels, _, _ in sink.samples()}, {"nvidia0", None}, "devices")
        tap.equal(kit.agent(f"{folder}/b", "--once", "--workers", "--push", sink.url, f"{folder}/runs").returncode, 0, "exit code")
        tap.equal({labels.get("device") for _, labels, _, _ in sink.samples()}, {"nvidia0", "host", None}, "devices with --workers")


@tap.test("the Slurm scripts: a folder per job, and its rest pushed at the end")
def _(folder):
    slurm = kit.ROOT / "contrib" / "slurm"
    environment = {**os.environ, "STORMLOG_RECORDINGS": f"{folder}/runs", "SLURM_JOB_USER": "me", "SLURM_JOB_ID": "7",
                   "PATH": f"{os.path.dirname(kit.STORMLOG)}:{os.environ['PATH']}"}
    made = tap.run([slurm / "prolog.sh"], env=environment)
    tap.equal(made.stdout, f"export STORMLOG_RUNS={folder}/runs/me/job-7\n", "prolog")
    start = kit.make_fleet(f"{folder}/runs/me/job-7", ranks=2, past=5)
    with kit.Sink() as sink:
        done = tap.run([slurm / "epilog.sh"], env={**environment, "STORMLOG_PUSH": sink.url, "STORMLOG_STATE": f"{folder}/state"})
        tap.equal((done.returncode, done.stderr), (0, ""), "epilog")
        check_fleet(sink.samples(), start, 2, 0, 5)
    tools = Path(folder) / "tools"
    tools.mkdir()
    (tools / "logger").write_text(f'#!/bin/sh\necho "$@" >>"{folder}/log"\n')
    (tools / "logger").chmod(0o755)
    environment = {**environment, "PATH": f"{tools}:{environment['PATH']}", "STORMLOG_STATE": f"{folder}/state",
                   "STORMLOG_PUSH": f"http://127.0.0.1:{kit.free_port()}"}
    with kit.Agent(f"{folder}/state", f"{folder}/runs"):
        done = tap.run([slurm / "epilog.sh"], env=environment)
        tap.equal((done.returncode, done.stderr, Path(f"{folder}/log").exists()), (0, "", False), "beside an agent that sends the rest")
    Path(f"{folder}/state/cursors").write_text("nonsense\n")
    tap.equal(tap.run([slurm / "epilog.sh"], env=environment).returncode, 0, "exit code: the job must end")
    tap.contains(Path(f"{folder}/log").read_text(), "job 7: stormlog: ")
    unit = (slurm.parent / "systemd" / "stormlog-agent.service").read_text()
    state = re.search(r"^StateDirectory=(.*)$", unit, re.M)[1]
    tap.contains((slurm / "epilog.sh").read_text(), f'"${{STORMLOG_STATE:=/var/lib/{state}}}"')


tap.main()
