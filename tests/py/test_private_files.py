# SPDX-License-Identifier: MIT
"""What the package writes: for its owner only, never through a link that somebody planted, without a trace in the process
(umask, descriptors)."""

import gc
import os
import shutil
import stat
import sys
import threading
import time
from pathlib import Path

import tap
from other_user import as_nobody, mode, shared_place

DATA = Path(os.environ["STORMLOG_TEST_DATA"])
SNAPSHOT = DATA / "corpus" / "c22_oom_capacity_build.pickle.gz"

TRACK = """
import os, sys
import stormlog
tracker = stormlog.CPUMemoryTracker(sampling_interval=3600)
tracker.start_tracking()
print(tracker.evidence_path)
tracker.stop_tracking()
sys.stdout.flush()
if "keep" in sys.argv:
    os._exit(0)
"""


def track(*arguments, **env):
    """The evidence file of a tracker in a process of its own."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STORMLOG_") or name == "STORMLOG_TEST_DATA"}
    return Path(tap.run([sys.executable, "-c", TRACK, *arguments], check=True, env={**clean, **env}).stdout.strip())


def open_files():
    return len(os.listdir("/proc/self/fd"))


@tap.test("evidence is in a folder that only its owner can read, and a normal end removes it")
def _(folder):
    path = track("keep", TMPDIR=folder)
    tap.equal((path.parent, mode(path.parent), mode(path)), (Path(folder) / f"stormlog-{os.geteuid()}", "0o700", "0o600"))
    gone = track(TMPDIR=folder)
    tap.equal((gone.parent, gone.exists()), (path.parent, False), "after a good end")
    shared = track("keep", TMPDIR=folder, STORMLOG_SHARE="1")
    tap.equal(mode(shared), oct(0o644), "shared evidence")


@tap.test("evidence is never written to a folder, a link or a file that another user created")
def _(folder):
    place = shared_place(folder)
    victim = Path(folder) / "victim"
    victim.mkdir()
    planted = f"{place}/stormlog-{os.geteuid()}"
    for plant in (f"mkdir -m 777 '{planted}'", f"ln -s '{victim}' '{planted}'", f": > '{planted}'"):
        as_nobody(plant)
        path = track("keep", TMPDIR=str(place))
        tap.true(str(path).startswith(planted + "-"), f"{path} is in a folder with a random name after {plant!r}")
        tap.equal((os.lstat(path.parent).st_uid, mode(path.parent), mode(path)), (os.geteuid(), "0o700", "0o600"), plant)
        track(TMPDIR=str(place))
        tap.equal(len(list(place.iterdir())), 2, f"a good end leaves no folder after {plant!r}: {list(place.iterdir())}")
        tap.equal(list(victim.iterdir()), [], "written through the link")
        shutil.rmtree(path.parent)
        as_nobody(f"rm -rf '{planted}'")


@tap.test("an own folder that others can write to is not used")
def _(folder):
    open_folder = Path(folder) / f"stormlog-{os.geteuid()}"
    open_folder.mkdir()
    os.chmod(open_folder, 0o777)
    path = track("keep", TMPDIR=folder)
    tap.true(path.parent != open_folder and mode(path.parent) == "0o700", f"{path} is elsewhere")


@tap.test("evidence is always a new file: an existing file, and a dangling link, are left unchanged")
def _(folder):
    from stormlog._tracking import EvidenceFile

    first = EvidenceFile(folder, "kind")
    first.append({"a": 1})
    number = int(first.path.stem.rsplit("_", 1)[1])
    old = Path(folder) / f"kind_events_{os.getpid()}_{number + 1}.jsonl"
    link = Path(folder) / f"kind_events_{os.getpid()}_{number + 2}.jsonl"
    old.write_text("old\n")
    link.symlink_to(f"{folder}/nowhere")
    second = EvidenceFile(folder, "kind")
    second.append({"b": 2})
    tap.equal((old.read_text(), os.path.exists(f"{folder}/nowhere")), ("old\n", False), "what was there")
    tap.equal((second.path.name, second.path.read_text()), (f"kind_events_{os.getpid()}_{number + 3}.jsonl", '{"b":2}\n'))
    first.close()
    second.close()
    second.append({"c": 3})
    tap.equal(second.path.read_text(), '{"b":2}\n{"c":3}\n', "opened again after close()")
    second.close()
    second.close()


@tap.test("a tracker closes its file descriptor when it stops, and opens it again when it starts")
def _(folder):
    import stormlog

    os.environ["STORMLOG_DIR"] = folder
    try:
        tracker = stormlog.CPUMemoryTracker(sampling_interval=3600)
        tracker.start_tracking()
        tracker.stop_tracking()
        before = open_files()
        for _ in range(20):
            one = stormlog.CPUMemoryTracker(sampling_interval=3600)
            one.start_tracking()
            one.stop_tracking()
        tap.equal(open_files(), before, "descriptors after 20 trackers")
        tracker.start_tracking()
        tracker.stop_tracking()
        tap.equal((open_files(), len(Path(tracker.evidence_path).read_text().splitlines())), (before, len(tracker.events)),
                  "descriptors, and lines for events of two rounds")
    finally:
        del os.environ["STORMLOG_DIR"]
    del one
    gc.collect()


@tap.test("exports from several threads do not change the umask: every file of the program has the mode it asked for")
def _(folder):
    import stormlog
    from stormlog._files import write_json_whole

    before = os.umask(0o077)
    stop = threading.Event()
    failures = []

    def work(number):
        try:
            while not stop.is_set():
                write_json_whole(f"{folder}/json-{number}", {})
                stormlog.export(SNAPSHOT, "folded", f"{folder}/out-{number}")
                if not stop.is_set():
                    os.unlink(f"{folder}/out-{number}")  # a file that is replaced keeps its mode
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    try:
        for thread in threads:
            thread.start()
        wrong, made, end = 0, 0, time.monotonic() + 1
        while time.monotonic() < end:
            fd = os.open(f"{folder}/mine", os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o666)
            wrong += stat.S_IMODE(os.fstat(fd).st_mode) != 0o600
            os.close(fd)
            os.unlink(f"{folder}/mine")
            made += 1
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        left = os.umask(before)
    tap.equal((wrong, oct(left), failures), (0, oct(0o077), []), f"files of another mode, of {made}; umask; errors")
    tap.equal({mode(f"{folder}/{name}") for name in os.listdir(folder)}, {"0o600"}, "modes of our own files")


@tap.test("bundles of the flight recorder and of diagnose are private, unless sharing is asked for")
def _(folder):
    from stormlog import diagnose
    from stormlog.oom_flight_recorder import OOMFlightRecorder, OOMFlightRecorderConfig

    for share, dirs, files in (("", 0o700, 0o600), ("1", 0o755, 0o644)):
        os.environ["STORMLOG_SHARE"] = share
        try:
            recorder = OOMFlightRecorder(OOMFlightRecorderConfig(enabled=True, dump_dir=f"{folder}/dumps{share}"))
            bundle = recorder.dump(reason="r", exception=None, context=None, backend="cpu")
            made, _ = diagnose.write_bundle(f"{folder}/diagnose{share}", duration=0)
        finally:
            del os.environ["STORMLOG_SHARE"]
        for path in (Path(bundle), made):
            tap.equal((mode(path), {mode(one) for one in path.iterdir()}), (oct(dirs), {oct(files)}), f"{path}")
        tap.equal([path.name for path in Path(bundle).parent.iterdir() if path.name.startswith(".")], [], "left behind")


@tap.test("retention never follows a link")
def _(folder):
    from stormlog.oom_flight_recorder import OOMFlightRecorder, OOMFlightRecorderConfig

    target, dumps = Path(folder) / "target", Path(folder) / "dumps"
    target.mkdir()
    (target / "precious").write_text("x")
    dumps.mkdir()
    (dumps / "oom_dump_20200101T000000Z_999999999_cpu_1").symlink_to(target)
    recorder = OOMFlightRecorder(OOMFlightRecorderConfig(enabled=True, dump_dir=str(dumps), max_dumps=1))
    for _ in range(3):
        recorder.dump(reason="r", exception=None, context=None, backend="cpu")
    tap.equal([path.name for path in target.iterdir()], ["precious"], "behind the link")


@tap.test("files are written first under a temporary name that nobody can prepare, in the same folder")
def _(folder):
    from stormlog._files import write_bytes_whole, write_json_whole

    path = Path(folder) / "out.json"
    for name in (".out.json.tmp", "out.json.tmp"):
        (Path(folder) / name).symlink_to(f"{folder}/nowhere")
    write_json_whole(path, {"a": 1})
    tap.equal(os.path.exists(f"{folder}/nowhere"), False, "written through a link")

    def fail(file):
        raise ValueError("no")

    try:
        write_bytes_whole(path, fail)
    except ValueError:
        pass
    tap.equal(sorted(os.listdir(folder)), [".out.json.tmp", "out.json", "out.json.tmp"], "left behind")
    tap.contains(path.read_text(), '"a": 1', "the old file")


tap.main()
