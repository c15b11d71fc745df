# SPDX-License-Identifier: MIT
"""stormlog ranks: made-up jobs with a fault (bench/ranks), every kind of input, bad input. Arguments: the program, bench_ranks."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import cli
import json_schema
import tap
from cli import DATA, ROOT, good, stormlog

MAKE = os.path.abspath(sys.argv.pop(1))
sys.path.insert(0, str(ROOT / "bench" / "ranks"))
import score  # noqa: E402

SCHEMA = json.loads((ROOT / "docs/schemas/ranks-1.json").read_text())


def make(folder, fault, seed=21, ranks=6, steps=40, form="packed"):
    """The run folder of a made-up job, and the truth about it."""
    path = Path(folder) / f"{fault}-{seed}"
    done = tap.run([MAKE, str(path), fault, str(seed), str(ranks), str(steps), str(16 * steps), form])
    tap.equal(done.returncode, 0, done.stderr)
    return path, json.loads(done.stdout)


def ask(*paths, code=0):
    done = stormlog("ranks", *paths, "--format", "json")
    tap.equal(done.returncode, code, done.stderr)
    answer = json.loads(done.stdout) if code == 0 else done.stderr
    if code == 0:
        tap.equal(json_schema.problems(answer, SCHEMA), [], "the schema")
    return answer


def file_of(folder, rank):
    return next(folder.glob(f"rank{rank}-*.slog"))


def change_header(path, edit, state=None):
    """Changes the header by edit(bytes), and the state by state(file); the checksum is made anew (docs/format.md)."""
    with open(path, "r+b") as file:
        header = bytearray(file.read(4096))
        edit(header)
        struct.pack_into("<I", header, 16, 0)
        struct.pack_into("<I", header, 16, zlib.crc32(header))
        file.seek(0)
        file.write(header)
        if state:
            file.seek(4096 + 24)
            file.write(state)


@tap.test("each kind of fault: the rank, the kind, the step and the line of the first cause; none in healthy jobs")
def _(folder):
    names = tap.run([MAKE, "list"]).stdout.split()
    tap.true(len(names) >= 25, f"faults: {names}")
    wrong = []
    for name in names:
        path, truth = make(folder, name, steps=80, form="compact")
        problem = score.what_is_wrong(truth, ask(path), 80)
        wrong += [f"{name}: {problem}"] if problem else []
        shutil.rmtree(path)
    tap.equal(wrong, [], "wrong answers")


@tap.test("clocks that are off by 5 s change nothing: neither the first cause nor its step, and the offsets are found")
def _(folder):
    path, truth = make(folder, "leak-skewed-clocks")
    before = ask(path)["first_cause"]
    for rank in range(6):
        change_header(file_of(path, rank), lambda header, by=(-5 + 2 * rank) * 10**9: struct.pack_into(
            "<Q", header, 48, struct.unpack_from("<Q", header, 48)[0] + by))
    answer = ask(path)
    after = answer["first_cause"]
    for key in ("fault", "rank", "step", "line"):
        tap.equal(after[key], before[key], key)
    tap.equal(after["rank"], truth["rank"], "rank")
    offsets = [row["clock_offset_seconds"] for row in answer["ranks"]]
    tap.true(max(offsets) - min(offsets) > 4, f"offsets: {offsets}")


@tap.test("the chain of an out-of-memory: the leak first, the failure after it, the others that waited last")
def _(folder):
    path, truth = make(folder, "leak-oom-timeouts")
    answer = ask(path)
    tap.equal([event["fault"] for event in answer["chain"] if event["rank"] == truth["rank"]][:2], ["leak", "oom"], "chain")
    tap.equal(answer["followers"]["ranks"], 5, "ranks that waited")
    tap.true(590 < answer["followers"]["after_seconds"] < 610, f"how long: {answer['followers']}")
    text = good("ranks", path)
    tap.contains(" ".join(text.split()), f"rank {truth['rank']}: memory began to grow")
    tap.contains(" ".join(text.split()), "5 ranks made no further step")


@tap.test("text, Markdown and page say the same, and fit")
def _(folder):
    path, truth = make(folder, "leak")
    sentence = ask(path)["sentence"]
    text = good("ranks", path)
    cli.fits(text, "text")
    tap.contains(" ".join(text.split()), sentence)
    plain = re.sub(r"\\(.)", r"\1", good("ranks", path, "--format", "md"))
    tap.contains(plain, sentence)
    page = good("ranks", path, "--format", "html")
    tap.contains(page, f"rank {truth['rank']}: memory began to grow")
    tap.true("<script" not in page and "http:" not in page.replace("http-equiv", ""), "no script, no request")


@tap.test("pipeline stages are groups")
def _(folder):
    path, _ = make(folder, "healthy-stages", ranks=16)
    groups = [group["ranks"] for group in ask(path)["groups"]]
    tap.equal(groups, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]], "groups")


@tap.test("recordings, snapshots, telemetry and bundles are read, mixed and in folders of folders")
def _(folder):
    tap.needs("gzip")
    path, truth = make(folder, "leak")
    nested = Path(folder) / "nodes"
    for rank in range(6):
        node = nested / f"node{rank // 2}"
        node.mkdir(parents=True, exist_ok=True)
        shutil.copy(file_of(path, rank), node)
    tap.equal(ask(nested)["first_cause"]["rank"], truth["rank"], "folders of folders")
    snapshots = Path(folder) / "snapshots"
    snapshots.mkdir()
    for rank in range(3):
        shutil.copy(cli.H200[0], snapshots / f"snapshot_rank{rank}.pickle.gz")
    answer = ask(snapshots)
    tap.equal([(row["rank"], row["rank_is_guessed"]) for row in answer["ranks"]], [(0, True), (1, True), (2, True)], "snapshots")
    tap.true(all(row["peak_bytes"] > 0 for row in answer["ranks"]), "peaks")
    telemetry = Path(folder) / "telemetry"
    telemetry.mkdir()
    for rank in range(6):
        out = telemetry / f"r{rank}.json"
        good("export", file_of(path, rank), "--to", "telemetry-json", "--every", "1s", "-o", out)
    answer = ask(telemetry)
    tap.equal((answer["aligned_by"], answer["ranks_read"], answer["world_size"]), ("first reading", 6, 6), "telemetry")
    tap.equal(answer["first_cause"]["rank"], truth["rank"], "first cause by telemetry")
    tap.equal((answer["participating_ranks"], len(answer["rank_sample_counts"])), ([0, 1, 2, 3, 4, 5], 6), "the Python tool's figures")
    tap.true(answer["first_cause_suspects"], "its suspects")
    mixed = ask(*[file_of(path, rank) for rank in range(5)], telemetry / "r5.json")
    tap.equal(mixed["ranks_read"], 6, "mixed")
    bundle = Path(folder) / "bundles"
    shutil.copytree(DATA / "peer/oom", bundle / "rank0")
    tap.equal(ask(bundle)["ranks_read"] > 0, True, "bundles")


@tap.test("bad input: two jobs, a rank twice, cut and foreign files, another version")
def _(folder):
    path, truth = make(folder, "leak", ranks=8)
    other, _ = make(folder, "healthy", seed=22, ranks=4)
    both = Path(folder) / "both"
    shutil.copytree(path, both)
    for rank in range(4):
        shutil.copy(file_of(other, rank), both / f"other{rank}.slog")
    answer = ask(both)
    tap.equal((answer["ranks_read"], answer["first_cause"]["rank"]), (8, truth["rank"]), "the larger of two jobs")
    tap.contains("\n".join(answer["merge_notes"]), "4 files are of another job")
    job = ask(other)["job_id"]
    done = stormlog("ranks", both, "--job", job, "--format", "json")
    tap.equal(json.loads(done.stdout)["ranks_read"], 4, f"--job: {done.stderr}")
    done = stormlog("ranks", both, "--job", "nobody")
    tap.equal((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)

    healthy = next(rank for rank in range(8) if rank != truth["rank"])
    twice = path / "rank-again.slog"
    shutil.copy(file_of(path, healthy), twice)
    change_header(twice, lambda header: struct.pack_into("<I", header, 64, 99))
    answer = ask(path)
    tap.equal((answer["ranks_read"], answer["first_cause"]["rank"]), (8, truth["rank"]), "a rank twice")
    tap.contains("\n".join(answer["merge_notes"]), f"1 rank has more than one recording (such as rank {healthy})")
    twice.unlink()

    victim = file_of(path, healthy)
    whole = victim.read_bytes()
    victim.write_bytes(whole[:len(whole) - 2000])  # within the raw events
    answer = ask(path)
    tap.equal((answer["ranks_read"], answer["first_cause"]["rank"]), (8, truth["rank"]), "cut within the events")
    tap.contains("\n".join(answer["merge_notes"]), "1 file is cut within the raw events")
    for damage, words in ((whole[:3000], "end of the file"),
                          (b"\x89SLOG\r\n\x1a" + struct.pack("<HHHH", 9, 0, 9, 0) + whole[16:], "version"),
                          (b"nothing of ours", "expected")):
        victim.write_bytes(damage)
        answer = ask(path)
        tap.equal((answer["ranks_read"], answer["missing_ranks"] or answer["ranks_missing"]), (7, [healthy]), words)
        tap.contains("\n".join(answer["merge_notes"]), "is left out: ")
        error = ask(victim, code=3)
        tap.equal(len(error.splitlines()), 1, f"one line: {error}")


@tap.test("hostile texts: host, job and lines do not reach the terminal or the page as they are")
def _(folder):
    path, _ = make(folder, "leak")
    evil = b"\x1b[31m<script>alert(1)</script>|`rm`\x00"
    for rank in range(6):
        change_header(file_of(path, rank), lambda header: (struct.pack_into("<128s", header, 1144, evil),
                                                           struct.pack_into("<128s", header, 1272, evil)))
    for form in ("txt", "json", "md", "html"):
        out = good("ranks", path, "--format", form)
        tap.true("\x1b" not in out, f"escape in {form}")
        if form == "html":
            tap.true("<script" not in out, "script in the page")
    json.loads(good("ranks", path, "--format", "json"))


@tap.test("an empty folder, and a rank beyond all bounds, are refused in one line")
def _(folder):
    for paths, code in (((folder,), 3), ((Path(folder) / "nowhere",), 3)):
        done = stormlog("ranks", *paths)
        tap.equal((done.returncode, len(done.stderr.splitlines())), (code, 1), f"{done.stderr}")
    path, _ = make(folder, "healthy")
    change_header(file_of(path, 3), lambda header: None, state=struct.pack("<ii", 2**30, 0))
    done = stormlog("ranks", path)
    tap.equal(done.returncode, 3, done.stderr)
    tap.contains(done.stderr, "at most 1048576 ranks are compared")


@tap.test("folders of `diagnose` are ranks: by what they name, by their path, else by the lowest that is free")
def _(folder):
    readings = {"timestamps": [1, 2, 3], "allocated": [1 << 20, 2 << 20, 3 << 20]}
    for name, more in (("rank2", {}), ("a", {}), ("b", {}), ("c", {"rank": 4, "world_size": 8})):
        place = Path(folder, name)
        place.mkdir()
        (place / "telemetry_timeline.json").write_text(json.dumps({**readings, **more}))
        (place / "environment.json").write_text("{}")
    answer = ask(folder)
    tap.equal(sorted(row["rank"] for row in answer["ranks"]), [0, 1, 2, 4], "ranks")
    for name, rank in (("a", 0), ("b", 1)):
        tap.contains("\n".join(answer["merge_notes"]), f"{name}/telemetry_timeline.json' names no rank: taken as rank {rank}")
    (Path(folder, "a") / "telemetry_timeline.json").write_text('{"timestamps": [1, 2], "allocated": [1]}')
    tap.contains("\n".join(ask(folder)["merge_notes"]), "'allocated' has 1 values but 'timestamps' has 2")


def notes_of(answer):
    return "\n".join(answer["merge_notes"])


@tap.test("entries of a folder that cannot be opened are named, and a file that is reached twice is one")
def _(folder):
    path, truth = make(folder, "leak")
    (path / "rank8.slog").symlink_to("nowhere.slog")
    (path / "again").symlink_to(path)
    (path / "empty.pickle").touch()
    answer = ask(path)
    tap.equal((answer["ranks_read"], answer["first_cause"]["rank"]), (6, truth["rank"]), "ranks")
    tap.contains(notes_of(answer), f"'{path}/rank8.slog' is left out: cannot open: No such file or directory")
    tap.contains(notes_of(answer), f"'{path}/empty.pickle' is left out: it is empty")
    tap.true("more than one recording" not in notes_of(answer), f"a link to itself: {notes_of(answer)}")
    tap.equal(ask(path, path)["merge_notes"], ask(path)["merge_notes"], "the same folder twice")
    for copy in range(3):
        shutil.copy(file_of(path, 0), path / f"copy{copy}.slog")
    tap.contains(notes_of(ask(path)), "1 rank has more than one recording (such as rank 0)")


@tap.test("a folder in a folder that this user may not read is left out with the reason")
def _(folder):
    path, truth = make(folder, "leak")
    Path(folder).chmod(0o755)
    for file in path.iterdir():
        file.chmod(0o644)
    (path / "node9").mkdir(mode=0o000)
    shutil.copy(cli.H200[0], path / "rank7.pickle.gz")
    (path / "rank7.pickle.gz").chmod(0o000)
    user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    done = subprocess.run([cli.STORMLOG, "ranks", str(path), "--format", "json"], capture_output=True, text=True, **user)
    (path / "node9").chmod(0o755)
    tap.equal(done.returncode, 0, done.stderr)
    answer = json.loads(done.stdout)
    tap.equal((answer["ranks_read"], answer["first_cause"]["rank"]), (6, truth["rank"]), "ranks")
    for name in ("node9", "rank7.pickle.gz"):
        tap.contains(notes_of(answer), f"'{path}/{name}' is left out: cannot open: Permission denied")


@tap.test("ranks of files that name none: not one that a recording has, and not from the folder of the run")
def _(folder):
    path, truth = make(folder, "leak")
    facts = path / "facts"
    facts.mkdir()
    (facts / "telemetry_timeline.json").write_text(json.dumps({"timestamps": [1, 2], "allocated": [1 << 20, 2 << 20]}))
    (facts / "environment.json").write_text("{}")
    answer = ask(path)
    tap.contains(notes_of(answer), "telemetry_timeline.json' names no rank: taken as rank 6")
    tap.equal((answer["ranks_read"], answer["first_cause"]["rank"]), (7, truth["rank"]), "beside recordings")
    shutil.rmtree(facts)
    shutil.copy(cli.H200[0], path / "dump.pickle.gz")
    answer = ask(path)
    tap.equal(answer["ranks_read"], 6, "a snapshot beside recordings")
    tap.contains(notes_of(answer), f"'{path}/dump.pickle.gz' is left out: neither it nor its name has a rank")

    run = Path(folder) / "lora-rank8"
    shutil.copytree(path, run)
    change_header(file_of(run, 5), lambda header: None, state=struct.pack("<ii", -1, -1))
    tap.equal([row["rank"] for row in ask(run)["ranks"]], [0, 1, 2, 3, 4], "a helper in a folder that has a number")
    snapshots = Path(folder) / "snapshots-rank8"
    snapshots.mkdir()
    for name in ("a", "b", "rank1"):
        shutil.copy(cli.H200[0], snapshots / f"{name}.pickle.gz")
    tap.equal([row["rank"] for row in ask(snapshots)["ranks"]], [0, 1, 2], "snapshots with and without a rank")
    for rank in range(2):
        (Path(folder) / f"rank{rank}").mkdir()
        shutil.copy(cli.H200[0], Path(folder) / f"rank{rank}" / "dump.pickle.gz")
    tap.equal([row["rank"] for row in ask(Path(folder) / "rank0", Path(folder) / "rank1")["ranks"]], [0, 1], "a folder per rank")


@tap.test("the Python tool's figures are those of the ranks that are compared; other jobs are named")
def _(folder):
    path, _ = make(folder, "healthy", ranks=4)
    alone = ask(path)
    for seed in (22, 23):
        other, _ = make(folder, "leak", seed=seed, ranks=3)
        for rank in range(3):
            good("export", file_of(other, rank), "--to", "telemetry-json", "-o", path / f"other-{seed}-{rank}.json")
    answer = ask(path)
    for key in ("job_id", "participating_ranks", "rank_sample_counts", "first_cause_suspects", "first_cause"):
        tap.equal(answer[key], alone[key], key)
    jobs = sorted({json.loads((path / f"other-{seed}-0.json").read_text())[0]["job_id"] for seed in (22, 23)})
    tap.contains(notes_of(answer), "6 files are of other jobs (")
    done = stormlog("ranks", path, "--job", "nobody")
    for job in (*jobs, alone["job_id"]):
        tap.contains(done.stderr, f"'{job}'")


@tap.test("the forms agree about a rank; missing ranks do not hide what happened")
def _(folder):
    path, truth = make(folder, "leak")
    change_header(file_of(path, (truth["rank"] + 1) % 6), lambda header: None, state=struct.pack("<i", 900))
    answer = ask(path)
    page, text, md = (good("ranks", path, "--format", form) for form in ("html", "txt", "md"))
    for form in (page, text, md):
        tap.contains(form, f"of job {answer['job_id']}")
        tap.true("there is no recording of it" not in form, "missing ranks one by one")
        tap.true("6-899" in form, "the ranges that are missing")
    tap.contains(" ".join(text.split()), f"s rank {truth['rank']}: memory began to grow")
    tap.contains(md, f"- rank {truth['rank']}: memory began to grow")
    for line in (line for line in md.splitlines() if re.match(r"\| \d", line)):
        rank, _host, step, peak, last, clock, status = (cell.strip() for cell in line.strip("|").split("|"))
        row = next(row for row in answer["ranks"] if row["rank"] == int(rank))
        tap.true(abs(float(last.split()[0]) - row["last_step_bytes"] / 2**30) < 0.01, f"{last} and {row['last_step_bytes']}")
        tap.contains(page, f"<td>{rank}<td class=t>node000<td>{step}<td>{peak}<td>{last}<td>{clock}<td class=t>{status}<td")
        tap.true(re.search(rf"^ +{rank} +node000 +{step} +{peak} +{last} +{re.escape(clock)} +{status}$", text, re.M), f"{line}: {text}")


@tap.test("a job that was killed as a whole is not called one without failures")
def _(folder):
    path, _ = make(folder, "healthy-stopped")
    tap.equal(ask(path)["sentence"], "no rank diverged or fell silent; 6 of 6 were killed or failed, at about the same time", "stopped")
    path, _ = make(folder, "healthy")
    tap.equal(ask(path)["sentence"], "no rank diverged, was killed or fell silent", "healthy")
    path, truth = make(folder, "exception-timeouts")
    tap.contains(ask(path)["sentence"], f"rank {truth['rank']}: the process exited at step ")


tap.main()
