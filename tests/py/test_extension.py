# SPDX-License-Identifier: MIT
"""The extension modules: errors, references, stubs, and known mistakes with the C API."""

import ast
import gc
import inspect
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import records
import tap
from stormlog import _files, _read, _record, recording

SOURCE = Path(os.environ["STORMLOG_SOURCE"])
BUILD = Path(os.environ["STORMLOG_BUILD"])
DATA = Path(os.environ["STORMLOG_TEST_DATA"])
PYEXT = sorted((SOURCE / "src" / "pyext").glob("*.[ch]"))
SNAPSHOT = DATA / "h200" / "s3_baseline.pickle.gz"

GOOD = records.record(metadata={"a": [1, 2]}, device_total_bytes=100)
EVENTS = [records.sample(i, 3e9 + i * 1e8, 2.5e9, rank=i % 2, world_size=2, metadata={"i": i}) for i in range(20)]
CALLS = [("f", 1.0, float(i), i + 1.0, i * 2 ** 28, (i + 1) * 2 ** 28, 2 ** 31, 2 ** 31) for i in range(12)]


def chart():
    made = _read.Chart("t")
    made.panel("lines", "p", "x", "y")
    made.series("s", [1, 2, 3], [1, 2, 3])
    made.note("n", 1.5)
    made.label("l")
    return made


def watch():
    made = _record.MemoryWatch(0.001)
    made.start()
    return made.stop()


class Files:
    """Made once for all loops."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="stormlog-test-")
        self.events = os.path.join(self.folder, "events.json")
        Path(self.events).write_text("[" + ",".join([__import__("json").dumps(GOOD)] * 3) + ', {"bad": 1}]')
        self.slog = self.make_slog()

    def make_slog(self):
        library = BUILD / "libstormlog_record.so"
        if not library.exists():
            return None
        code = (f"from stormlog import _record, recording\nrecording.record(dir={self.folder!r}, cpu=True, max_entries=4096)\n"
                "import torch\nx = torch.zeros(10)\nprint(_record.path())\n_record.stop()")
        return tap.run([sys.executable, "-c", code]).stdout.strip() or None


files = Files()


def loader(path):
    return lambda: _record.load(path)


# Every function and type of both modules, with good arguments and with bad ones. A call may raise: that path leaks, too.
CALLABLES = {
    "_record.load": [loader("/nowhere.so"), loader(5), loader(BUILD / "libstormlog_record.so")],
    "_read.validate_record": [lambda: _read.validate_record(GOOD), lambda: _read.validate_record({"x": 1}),
                              lambda: _read.validate_record(5), lambda: _read.validate_record({**GOOD, "pid": "x"})],
    "_read.convert_record": [lambda: _read.convert_record(GOOD), lambda: _read.convert_record({"timestamp": 1.5, "metadata_a": 1}),
                             lambda: _read.convert_record({"timestamp": "x"}), lambda: _read.convert_record()],
    "_read.load_records": [lambda: _read.load_records(files.events, skips_bad=True), lambda: _read.load_records(files.events),
                           lambda: _read.load_records("/nowhere"), lambda: _read.load_records(3)],
    "_read.field_names": [_read.field_names],
    "_read.analyze_gaps": [lambda: _read.analyze_gaps(EVENTS), lambda: _read.analyze_gaps([1]), lambda: _read.analyze_gaps(1)],
    "_read.attribute_collective": [lambda: _read.attribute_collective(EVENTS, "high", {"min_samples_per_rank": 3, "min_gap_bytes": 1}),
                                   lambda: _read.attribute_collective(EVENTS, "x"),
                                   lambda: _read.attribute_collective(EVENTS, "low", 5)],
    "_read.collective_config": [lambda: _read.collective_config("low"), lambda: _read.collective_config("low", {"x": 1}),
                                lambda: _read.collective_config("low", {"min_gap_ratio": "x"})],
    "_read.merge_ranks": [lambda: _read.merge_ranks(EVENTS), lambda: _read.merge_ranks(None)],
    "_read.rank_of_path": [lambda: _read.rank_of_path("a/rank3/x.json"), lambda: _read.rank_of_path("x"), lambda: _read.rank_of_path(3)],
    "_read.profile_report": [lambda: _read.profile_report(CALLS), lambda: _read.profile_report([(1, 2)]),
                             lambda: _read.profile_report(5)],
    "_read.classify_oom": [lambda: _read.classify_oom("A", "b", "out of memory\udc80\0"), lambda: _read.classify_oom("A", "b", "x"),
                           lambda: _read.classify_oom(1, 2, 3)],
    "_read.fit": [lambda: _read.fit([1, 2, 3], [1, 2, 4]), lambda: _read.fit([1], [1, 2]), lambda: _read.fit(["x"], [1])],
    "_read.pearson": [lambda: _read.pearson([1, 2, 3], [1, 2, 4]), lambda: _read.pearson(1, 2)],
    "_read.mean_stdev": [lambda: _read.mean_stdev([1, 2, 3]), lambda: _read.mean_stdev(["x"])],
    "_read.quantile": [lambda: _read.quantile([1, 2, 3], 0.5), lambda: _read.quantile([], 0.5)],
    "_read.device_counters": [lambda: _read.device_counters(0), lambda: _read.device_counters("x")],
    "_read.export_kinds": [_read.export_kinds],
    "_read.report": [lambda: _read.report([SNAPSHOT]), lambda: _read.report(["/nowhere"]), lambda: _read.report([SNAPSHOT], "x"),
                     lambda: _read.report([SNAPSHOT], device=77), lambda: _read.report(5)],
    "_read.diff": [lambda: _read.diff(SNAPSHOT, SNAPSHOT), lambda: _read.diff(SNAPSHOT, "/nowhere"), lambda: _read.diff(1, 2)],
    "_read.whatif": [lambda: _read.whatif([SNAPSHOT], settings=["max_split_size_mb:64"], quick=True, placements=1),
                     lambda: _read.whatif([SNAPSHOT], settings=["x"]), lambda: _read.whatif([SNAPSHOT], settings=[5]),
                     lambda: _read.whatif([SNAPSHOT], settings="x"), lambda: _read.whatif([SNAPSHOT], card="x"),
                     lambda: _read.whatif([SNAPSHOT], card=-1), lambda: _read.whatif([SNAPSHOT], "x"),
                     lambda: _read.whatif([SNAPSHOT], device=77), lambda: _read.whatif(["/nowhere"]), lambda: _read.whatif(5)],
    "_read.export": [lambda: _read.export(SNAPSHOT, "folded", os.path.join(files.folder, "out")),
                     lambda: _read.export(SNAPSHOT, "x", "y"), lambda: _read.export(SNAPSHOT, "folded", "/nowhere/x")],
    "_read.log_health": [lambda: _read.log_health(files.slog or "/nowhere"), lambda: _read.log_health("/nowhere"),
                         lambda: _read.log_health(3)],
    "_read.Chart": [lambda: chart().svg(), lambda: chart().write(os.path.join(files.folder, "c.svg")),
                    lambda: _read.Chart("t").series("s", None, [1]), lambda: chart().series("s", [1], [1, 2]),
                    lambda: chart().panel("x", "y"), lambda: chart().note("n", 1, "x"), lambda: _read.Chart("t", 1, 1)],
    "_record.process_memory": [_record.process_memory],
    "_record.MemoryWatch": [watch, lambda: _record.MemoryWatch(0), lambda: _record.MemoryWatch(0.01).start()],
    "_record.is_loaded": [_record.is_loaded],
    "_record.settings": [_record.settings],
    "_record.start": [lambda: _record.start(dir=5), lambda: _record.start(cpu="x"), lambda: _record.start("a", dir="b"),
                      lambda: _record.start(nothing=1), lambda: _record.start("a", cpu=2 ** 32), lambda: _record.start(1, 2)],
    "_record.run_folder_open": [lambda: _record.run_folder_open(os.path.join(files.folder, "run"), "train.py"),
                                lambda: _record.run_folder_open("/proc/nowhere/x", "x"), lambda: _record.run_folder_open(5, "x")],
    "_record.run_folder_discard": [lambda: _record.run_folder_discard(_record.run_folder_open(os.path.join(files.folder, "run"), "x")[0]),
                                   lambda: _record.run_folder_discard(5)],
    "_record.stop": [_record.stop],
    "_record.is_on": [_record.is_on],
    "_record.oom_count": [_record.oom_count],
    "_record.path": [_record.path],
    "_record.step": [lambda: _record.step(1), lambda: _record.step("x")],
    "_record.own_steps": [_record.own_steps, lambda: _record.own_steps(1)],
    "_record.mark": [lambda: _record.mark("x"), lambda: _record.mark(5)],
    "_record.mark_begin": [lambda: _record.mark_begin("x")],
    "_record.mark_end": [lambda: _record.mark_end("x")],
}

# Calls that take milliseconds are repeated less often; what they would lose is larger, too.
SLOW = {"_read.report": 30, "_read.diff": 30, "_read.whatif": 30, "_read.export": 30, "_record.MemoryWatch": 300,
        "_record.run_folder_open": 1000,
        "_record.run_folder_discard": 1000, "_read.log_health": 300,
        "_read.load_records": 2000, "_read.Chart": 150, "_read.analyze_gaps": 1500, "_read.merge_ranks": 1500,
        "_read.attribute_collective": 1500, "_read.profile_report": 1500}
ROUNDS = 10000
LIMIT = 1024 * 1024


def names_of(module, prefix):
    return {f"{prefix}.{name}" for name, value in vars(module).items()
            if not name.startswith("__") and (inspect.isbuiltin(value) or (isinstance(value, type)
                                              and not issubclass(value, Exception)))}


def call_all(calls):
    for call in calls:
        try:
            call()
        except Exception:
            pass


def live_bytes():
    gc.collect()
    return _record.process_memory()[0]


def add_leak_test(name, calls):
    @tap.test(f"{name} does not leak memory")
    def _():
        rounds = SLOW.get(name, ROUNDS)
        # The first rounds fill caches and let the heap settle.
        for _ in range(max(20, rounds // 5)):
            call_all(calls)
        before = live_bytes()
        for _ in range(rounds):
            call_all(calls)
        grown = live_bytes() - before
        tap.true(grown < LIMIT, f"less than {LIMIT} bytes grown in {rounds} rounds, found {grown}")


@tap.test("every function and type is in the table of calls checked for leaks")
def _():
    found = names_of(_read, "_read") | names_of(_record, "_record")
    tap.equal(sorted(found ^ set(CALLABLES)), [], "names in one list only")


for callable_name, its_calls in CALLABLES.items():
    add_leak_test(callable_name, its_calls)


@tap.test("errors have the class of their group, a code, a name and a position")
def _():
    cases = ((lambda: _read.validate_record({}), _read.FormatError, ValueError, -30),
             (lambda: _read.report(["/nowhere"]), _read.MissingFileError, FileNotFoundError, -20),
             (lambda: _read.collective_config("x"), _read.UsageError, ValueError, -10),
             (lambda: _read.report([SNAPSHOT], device=77), _read.DeviceError, RuntimeError, -50))
    for call, kind, builtin, code in cases:
        try:
            call()
        except kind as error:
            tap.true(isinstance(error, builtin) and isinstance(error, _read.StormlogError), f"{kind} is a {builtin}")
            tap.equal((error.code, error.name.startswith("E_")), (code, True), "code and name")
            tap.true(error.position is None or error.position >= 0, "position")
        else:
            raise AssertionError(f"expected {kind}")


@tap.test("other Python threads run while files are read and events analysed")
def _():
    # Another thread must make progress during a call; if the call held the GIL, that thread would not count at all.
    stop, counted = threading.Event(), [0]

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0)  # gives the lock away, so that the call can come back

    thread = threading.Thread(target=count)
    sys.setswitchinterval(1000)  # nobody is made to give the lock away
    try:
        thread.start()
        before = counted[0]
        _read.report([DATA / "h200" / "s1_loss_history.pickle.gz"])
        during = counted[0] - before
    finally:
        sys.setswitchinterval(0.005)
        stop.set()
        thread.join()
    tap.true(during > 1, f"the other thread counted during the call, found {during}")


@tap.test("two copies of a module do not share state")
def _():
    import importlib.util

    spec = importlib.util.find_spec("stormlog._read")
    other = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(other)
    tap.true(other is not _read and other.FormatError is not _read.FormatError, "each has its own classes")
    try:
        other.validate_record({})
    except other.FormatError:
        pass


@tap.test("the same binary works in every other Python from 3.9 on that is installed")
def _():
    code = ("import sys, stormlog; from stormlog import _read, _record; stormlog.CPUMemoryProfiler().profile_function(int); "
            "_read.merge_ranks([]); print(sys.version_info[1])")
    own = sys.version_info[1]
    others = [shutil.which(f"python3.{minor}") for minor in range(9, 20) if minor != own]
    results = [tap.run([python, "-c", code]) for python in others if python]
    # A version manager's shim exits with 127 if its version is not selected.
    results = [result for result in results if result.returncode != 127]
    if not results:
        tap.skip("there is no other Python here")
    for result in results:
        tap.equal(result.returncode, 0, result.stderr)


# --- stubs -------------------------------------------------------------------------------------------------------


def stub_functions(path):
    """name or Class.name: (positional names, keyword-only names)."""
    found = {}
    tree = ast.parse(Path(path).read_text())
    for owner in [tree, *[node for node in tree.body if isinstance(node, ast.ClassDef)]]:
        prefix = f"{owner.name}." if isinstance(owner, ast.ClassDef) else ""
        for node in owner.body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
                positional = [argument.arg for argument in node.args.posonlyargs + node.args.args if argument.arg != "self"]
                found[prefix + node.name] = (positional, [argument.arg for argument in node.args.kwonlyargs])
    return found


def real_functions(module):
    found = {}
    for name, value in vars(module).items():
        if inspect.isbuiltin(value):
            found[name] = shape(value)
        elif isinstance(value, type) and not issubclass(value, Exception):
            found.update({f"{name}.{key}": shape(getattr(value, key)) for key in vars(value)
                          if not key.startswith("__") and callable(getattr(value, key))})
            found.update({f"{name}.{key}": ([], []) for key in vars(value)
                          if not key.startswith("__") and not callable(getattr(value, key))})
    return found


def shape(function):
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name not in ("self", "module")]
    return ([p.name for p in parameters if p.kind is not p.KEYWORD_ONLY], [p.name for p in parameters if p.kind is p.KEYWORD_ONLY])


@tap.test("the stubs list what the modules have, with the same parameters, and everything has a docstring")
def _():
    for module, name in ((_read, "_read"), (_record, "_record")):
        tap.equal(stub_functions(SOURCE / "python" / "stormlog" / f"{name}.pyi"), real_functions(module), f"{name}.pyi")
        undocumented = [key for key in real_functions(module) if "." not in key and not getattr(module, key).__doc__]
        tap.equal(undocumented, [], "functions without a docstring")


@tap.test("the recorder's settings in C, its arguments in Python and their defaults match the table")
def _():
    rows = _record.settings()
    public = {name for name, row in rows.items() if row["is_api"]}
    header = (SOURCE / "include" / "stormlog" / "record.h").read_text()
    struct = re.search(r"typedef struct sl_record_options \{(.*?)\}", header, re.S)[1]
    tap.equal({*re.findall(r"^ *[\w *]+?(\w+);", struct, re.M)} - {"struct_size"}, public, "members of sl_record_options")
    positional, keywords = shape(_record.start)
    tap.equal({*positional, *keywords}, public, "arguments of _record.start")
    record = inspect.signature(recording.record).parameters
    own = {"steps", "snapshot", "oom_snapshot"}  # of Recording, not of the recorder
    tap.equal(set(record) - own, {row["argument"] for row in rows.values()} - {None}, "arguments of stormlog.record")
    tap.equal(record["interval_ms"].default, rows["interval_ms"]["initial"], "default of interval_ms")
    tap.equal(rows["stacks"]["words"][record["stacks"].default], rows["stacks"]["initial"], "default of stacks")
    tap.equal(_files._SHARE_ENV, rows["is_shared"]["env"], "the variable that shares files")
    tap.equal({type(kind).__name__ for kind in (refusal(dir=5), refusal(cpu="x"), refusal(nothing=1))}, {"TypeError"}, "wrong types")
    tap.equal(type(refusal(cpu=2 ** 32)).__name__, "OverflowError", "a number that does not fit")


def refusal(**arguments):
    try:
        _record.start(**arguments)
    except Exception as error:
        return error
    return None


# --- lint --------------------------------------------------------------------------------------------------------

# (what it is, pattern): each is a mistake that compiles.
MISTAKES = [
    ("an object shared by all interpreters", re.compile(r"^static (?!PyObject \*\w+\()PyObject \*", re.M)),
    ("a type that is not on the heap", re.compile(r"^static PyTypeObject ", re.M)),
    ("single-phase initialisation", re.compile(r"PyModule_Create\b")),
    ("a macro that skips checks and is not in the stable ABI", re.compile(r"Py(List|Tuple|Bytes|Unicode)_(GET|SET|AS)_[A-Z]+")),
    ("a call into the interpreter without its lock", re.compile(
        r"Py_BEGIN_ALLOW_THREADS(?:(?!Py_END_ALLOW_THREADS).)*?\b(?:Py_(?:X?DECREF|INCREF|BuildValue)|PyErr_|PyList_|PyDict_|"
        r"PyUnicode_|PyBytes_|sl_py_raise|sl_py_none)", re.S)),
    ("a return between taking the lock's release and giving it back", re.compile(
        r"Py_BEGIN_ALLOW_THREADS(?:(?!Py_END_ALLOW_THREADS).)*?\breturn\b", re.S)),
    ("None handed out without a reference", re.compile(r"(?<!Py_INCREF\(Py_None\);\n    )return Py_None;")),
    ("a borrowed argument released", re.compile(r"Py_X?DECREF\((args|keywords|self|module)\)")),
]


@tap.test("the code makes none of the known mistakes with the C API")
def _():
    tap.true(len(PYEXT) > 10, "the sources are found")
    found = [f"{path.name}: {what}" for path in PYEXT for what, pattern in MISTAKES if pattern.search(path.read_text())]
    tap.equal(found, [], "mistakes")


@tap.test("the check for these mistakes finds each of them")
def _():
    bad = ("static PyObject *cache;\nstatic PyTypeObject T;\nPyModule_Create(x);\nPyList_GET_SIZE(l);\n"
           "Py_BEGIN_ALLOW_THREADS\nPyErr_Clear();\nPy_END_ALLOW_THREADS\nPy_BEGIN_ALLOW_THREADS\nreturn;\n"
           "return Py_None;\nPy_DECREF(args);")
    tap.equal([what for what, pattern in MISTAKES if not pattern.search(bad)], [], "patterns that match nothing")


@tap.test("the modules need no symbol beyond the stable ABI, and no libpython")
def _():
    if not shutil.which("nm"):
        tap.skip("nm is not installed")
    # Functions outside the stable ABI of 3.9 that this code might use by accident.
    unstable = {"PyUnicode_AsUTF8AndSize", "PyModule_AddObjectRef", "PyType_FromModuleAndSpec", "PyObject_CallNoArgs",
                "PyObject_CallOneArg", "PyObject_Vectorcall", "_PyObject_GC_New", "Py_NewRef", "PyObject_GetBuffer",
                "PyUnicode_AsUTF8", "_Py_Dealloc_inline", "PyErr_GetRaisedException"}
    for name in ("_read", "_record"):
        path = BUILD / "python" / "stormlog" / f"{name}.abi3.so"
        needed = {line.split()[-1].split("@")[0] for line in
                  subprocess.run(["nm", "-D", "--undefined-only", path], capture_output=True, text=True).stdout.splitlines()}
        tap.equal(sorted(needed & unstable), [], f"unstable symbols of {name}")
        exported = {line.split()[-1] for line in
                    subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True).stdout.splitlines()}
        tap.equal(sorted(exported), [f"PyInit_{name}"], f"exported symbols of {name}")
        tap.true("libpython" not in subprocess.run(["ldd", path], capture_output=True, text=True).stdout, "no libpython")


try:
    tap.main()
finally:
    shutil.rmtree(files.folder)
