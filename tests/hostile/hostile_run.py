# SPDX-License-Identifier: MIT
"""Runs one hostile program plain and recorded, and compares everything a user could notice.

A Case is one row of a table (case_*.py). Its program runs in fresh folders: plain, under `stormlog run` (mode run), and with
a recording that it starts itself (mode api). Compared are the exit code, standard output, standard error without the lines
that begin with "stormlog:", and every file left in the working folder: content, size and mode. Then the recording.
"""

import glob
import hashlib
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from typing import Callable, Dict, List, Optional, Sequence, Tuple, Union

import slog_totals
import tap

HERE = os.path.dirname(os.path.abspath(__file__))
DEBIAN_PYTHON = "/usr/bin/python3"
WHERE_PYTHONS_ARE = ["/usr/bin/python3.[0-9]*", "/usr/local/bin/python3.[0-9]*", os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")]
OWN_LINE = re.compile(r"stormlog: ")
# What torch itself says where a recording is started from inside: "CPU memory is recorded only when asked for" in
# docs/inside-the-process.md.
LINE_OF_TORCH = re.compile(r".*Memory block of unknown size was allocated before the profiling|WARNING: Logging before InitGoogleLogging")
TEXT_BYTES = 1 << 16  # files up to this size are compared line by line
HEAD_BYTES = 1 << 20


@dataclass
class Setting:
    """What the command line of the runner says."""

    stormlog: str
    programs: str  # the folder of the C programs and libraries
    fakes: str
    device: str = "cpu"
    python: str = DEBIAN_PYTHON
    is_soak: bool = False

    @property
    def build(self) -> str:
        return os.path.dirname(self.stormlog)

    @property
    def library(self) -> str:
        return os.path.join(self.build, "libstormlog_record.so")

    def program(self, name: str) -> str:
        return os.path.join(self.programs, name)


@dataclass
class Case:
    name: str
    proves: str
    # A list is a C program with its arguments; a text is a Python program.
    program: Union[str, Sequence[str]]
    # Of a Python program: fake (stand-ins, no torch), or torch (a real one: on the CPU, or on CUDA with --device cuda).
    kind: str = "fake"
    modes: Tuple[str, ...] = ("run", "api")
    args: Sequence[str] = ()
    exit: int = 0  # of the plain program; 128 + n for signal n
    prepare: Optional[Callable[[str], None]] = None  # gets the working folder
    outer: Sequence[str] = ()  # put before the whole command; RUN and WORK in it are the folders
    inner: Sequence[str] = ()  # put before the program, after `stormlog run --`
    env: Dict[str, str] = field(default_factory=dict)
    options: Sequence[str] = ("-q",)  # of `stormlog run`; without -q it also analyzes what it recorded
    allocs: Optional[int] = 1  # recorded allocations of all processes together, at least; None: no recording is expected
    is_checked: bool = True  # by `stormlog fsck`
    check: Optional[Callable[["Outcome"], None]] = None  # more, for a recorded program
    every_python: bool = False
    has_cuda: bool = False  # makes sense on a real device, too
    has_cuda_text: bool = True  # there it prints and writes the same twice; the driver takes descriptors as it likes
    needs: Sequence[str] = ()  # root, unshare
    timeout_s: int = 60
    repeat: int = 1
    soak: int = 0  # repetitions in the suite soak; 0: not there
    python: str = ""
    is_code_only: bool = False  # only the exit code is compared


@dataclass
class Outcome:
    mode: str
    code: int
    out: str
    err: str
    files: Dict[str, tuple]
    run: str  # the run folder
    hang: str = ""
    own_lines: str = ""  # what the recorder itself said on standard error


def is_python(case: Case) -> bool:
    return isinstance(case.program, str)


def every_python() -> Dict[str, str]:
    """One interpreter per minor version on this machine, by version."""
    found: Dict[str, str] = {}
    for path in (path for pattern in WHERE_PYTHONS_ARE for path in sorted(glob.glob(pattern))):
        if not os.access(path, os.X_OK) or path.endswith("-config"):
            continue
        answer = tap.run([path, "-c", "import ctypes, sys; print('%d.%d' % sys.version_info[:2])"])
        if answer.returncode == 0:
            found.setdefault(answer.stdout.strip(), path)
    return dict(sorted(found.items(), key=lambda item: [int(part) for part in item[0].split(".")]))


def expand(cases: List[Case], setting: Setting) -> List[Case]:
    """The cases that run with this setting, those for every Python once per interpreter."""
    if setting.device == "cuda":
        return [replace(case, kind="torch", python=setting.python, every_python=False, name=case.name + " (CUDA)", timeout_s=120,
                        is_code_only=not case.has_cuda_text)
                for case in cases if case.has_cuda]
    if setting.is_soak:
        cases = [replace(case, repeat=case.soak) for case in cases if case.soak]
    result = []
    for case in cases:
        if not case.every_python:
            result.append(case)
            continue
        for version, path in every_python().items():
            result.append(replace(case, name=f"{case.name} (Python {version})", python=path))
    return result


# --- running -------------------------------------------------------------------------------------------------------


def command_of(case: Case, setting: Setting, mode: str, folder: str) -> List[str]:
    work, run = os.path.join(folder, "work"), os.path.join(folder, "run")
    if is_python(case):
        path = os.path.join(folder, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(case.program)
        program = [case.python or setting.python, path, *case.args]
    else:
        program = [setting.program(case.program[0]), *case.program[1:], *case.args]

    def with_places(words):
        return [word.replace("RUN", run).replace("WORK", work).replace("PROGRAMS", setting.programs) for word in words]

    launcher = [setting.stormlog, "run", *case.options, "-o", run, "--"] if mode in ("run", "nested", "both", "second") else []
    if mode == "nested":
        launcher += [setting.stormlog, "run", "-o", os.path.join(run, "inner"), "--"]
    return [*with_places(case.outer), *launcher, *with_places(case.inner), *program]


def environment_of(case: Case, setting: Setting, mode: str, folder: str) -> Dict[str, str]:
    env = {name: value for name, value in os.environ.items()
           if not re.match(r"STORMLOG_|HOSTILE_|LD_PRELOAD|PYTHON|RANK$|LOCAL_RANK$|WORLD_SIZE$|SLURM_|OMPI_|PMI", name)}
    kind = "fake" if case.kind == "fake" else setting.device
    run = os.path.join(folder, "run")
    env.update(HOSTILE_MODE=mode, HOSTILE_KIND=kind, HOSTILE_RUN=run if mode != "plain" else "",
               HOSTILE_KIT=setting.program("libhostile_kit.so"), HOSTILE_NATIVE=setting.program("libhostile_native.so"),
               HOSTILE_SLOW=setting.program("libhostile_slow.so"), HOSTILE_PLUGIN=setting.program("libhostile_plugin.so"),
               HOSTILE_FAKES=setting.fakes, HOSTILE_SOURCES=HERE,
               PYTHONPATH=HERE + ":" + os.path.join(setting.build, "python"), PYTHONDONTWRITEBYTECODE="1",
               OMP_NUM_THREADS="2")
    if kind == "fake":
        env["LD_LIBRARY_PATH"] = setting.fakes
    if mode in ("api", "apisecond"):
        env.update(HOSTILE_LIBRARY=setting.library, STORMLOG_DIR=run)
    if mode in ("second", "apisecond"):
        env["HOSTILE_SECOND"] = copy_library(setting, folder, "second")
    if mode == "twice":
        copies = [copy_library(setting, folder, name) for name in ("first", "second")]
        env.update(LD_PRELOAD=" ".join(copies), STORMLOG_DIR=run)
    env.update({name: value.replace("RUN", run) for name, value in case.env.items()})
    return env


def copy_library(setting: Setting, folder: str, name: str) -> str:
    os.makedirs(os.path.join(folder, name))
    return shutil.copy(setting.library, os.path.join(folder, name))


class Running:
    """One process of a case, from its start to the files it left."""

    def __init__(self, case: Case, setting: Setting, mode: str, folder: str) -> None:
        self.case, self.mode, self.folder = case, mode, folder
        self.work = os.path.join(folder, "work")
        os.makedirs(self.work)
        os.mkdir(os.path.join(folder, "run"))
        if case.prepare:
            case.prepare(self.work)
        with open(os.path.join(folder, "in"), "w") as file:
            file.write("a line of input\n")
        self.files = [open(os.path.join(folder, "in")), open(os.path.join(folder, "out"), "w+b"),
                      open(os.path.join(folder, "err"), "w+b")]
        self.process = subprocess.Popen(
            command_of(case, setting, mode, folder), env=environment_of(case, setting, mode, folder), cwd=self.work,
            stdin=self.files[0], stdout=self.files[1], stderr=self.files[2], start_new_session=True)

    def finish(self, deadline: float) -> Outcome:
        hang = ""
        try:
            self.process.wait(max(1.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            hang = describe_threads(self.process.pid)
        kill_session(self.process.pid)
        code = self.process.wait()
        texts = [self.read(file) for file in self.files[1:]]
        for file in self.files:
            file.close()
        err = "".join(line for line in texts[1].splitlines(True) if not OWN_LINE.match(line)
                      and not (self.mode.startswith("api") and LINE_OF_TORCH.match(line)))
        return Outcome(self.mode, code if code >= 0 else 128 - code, texts[0], err, left_behind(self.work),
                       os.path.join(self.folder, "run"), hang,
                       "".join(line for line in texts[1].splitlines(True) if OWN_LINE.match(line)))

    def read(self, file) -> str:
        file.seek(0)
        text = file.read(HEAD_BYTES).decode("utf-8", "replace")
        text = re.sub(r"\(pid=\d+\)", "(pid=N)", text.replace(self.folder, "FOLDER"))
        return re.sub(r"\b(0x)?7f[0-9a-f]{10}\b", "ADDRESS", text)


def kill_session(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def describe_threads(leader: int) -> str:
    """Where the processes of a hung program wait: one line per thread."""
    lines = []
    for status in glob.glob("/proc/[0-9]*/stat"):
        pid = int(status.split("/")[2])
        try:
            if os.getpgid(pid) != leader:
                continue
            for task in sorted(os.listdir(f"/proc/{pid}/task")):
                name, where = (read_text(f"/proc/{pid}/task/{task}/{part}") for part in ("comm", "wchan"))
                call = read_text(f"/proc/{pid}/task/{task}/syscall").split(" ")[0]
                lines.append(f"process {pid} thread {task} '{name}' waits in {where} (system call {call})")
            lines.append(stacks_of(pid) if shutil.which("gdb") else "")
        except OSError:
            continue
    return "\n".join(lines) or "its processes could not be listed"


def stacks_of(pid: int) -> str:
    command = ["gdb", "-q", "-batch", "-p", str(pid), "-ex", "set print frame-arguments none", "-ex", "thread apply all bt 7"]
    try:
        text = tap.run(command, timeout=30).stdout
    except subprocess.TimeoutExpired:
        return ""
    return "\n".join(line[:110] for line in text.splitlines() if re.match(r"Thread|#", line))


def read_text(path: str) -> str:
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return "?"


def left_behind(folder: str) -> Dict[str, tuple]:
    """Every file below the folder: type and mode, size, digest of the content."""
    found = {}
    for root, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(root, name)
            facts = os.lstat(path)
            digest = ""
            if stat.S_ISREG(facts.st_mode):
                digest = digest_of(path)
            elif stat.S_ISLNK(facts.st_mode):
                digest = os.readlink(path)
            size = facts.st_size if stat.S_ISREG(facts.st_mode) else 0
            found[os.path.relpath(path, folder)] = (stat.filemode(facts.st_mode), size, digest)
            if digest and size <= TEXT_BYTES and stat.S_ISREG(facts.st_mode):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder)] += (file.read().decode("utf-8", "replace"),)
    return found


def digest_of(path: str) -> str:
    digest = hashlib.sha1()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()[:12]


# --- judging -------------------------------------------------------------------------------------------------------


def name_of(code: int) -> str:
    if code <= 128:
        return str(code)
    try:
        return f"{code} ({signal.Signals(code - 128).name})"
    except ValueError:
        return str(code)


def shorten(text: str, limit: int = 1500) -> str:
    return text if len(text) <= limit else text[:limit // 2] + "\n[…]\n" + text[-limit // 2:]


def differences(case: Case, plain: Outcome, found: Outcome) -> List[str]:
    """What a user would notice, one text each."""
    if found.hang:
        return [f"hangs; killed\n{found.hang}\nits standard error: {shorten(found.err)}"]
    result = []
    if found.code != plain.code:
        result.append(f"exit code {name_of(found.code)}, plain {name_of(plain.code)}; standard error: {shorten(found.err)}")
    if case.is_code_only:
        return result
    for what, mine, theirs in (("standard output", plain.out, found.out), ("standard error", plain.err, found.err)):
        if mine != theirs and not (what == "standard error" and found.code != plain.code):
            result.append(f"{what} differs:\n{shorten(tap.text_diff(mine, theirs))}")
    for name in sorted(set(plain.files) | set(found.files)):
        mine, theirs = plain.files.get(name, ("absent",)), found.files.get(name, ("absent",))
        if mine != theirs:
            result.append(f"file '{name}': plain {mine[:3]}, recorded {theirs[:3]}")
            if len(mine) == len(theirs) == 4:
                result[-1] += "\n" + shorten(tap.text_diff(mine[3], theirs[3]), 800)
    return result


def faults_of_recording(case: Case, setting: Setting, found: Outcome) -> List[str]:
    if case.allocs is None:
        return []
    result = []
    try:
        totals = slog_totals.load_all(found.run)
        device = None if case.kind == "fake" or setting.device == "cpu" else 0
        count = sum(row.sum("alloc_cnt", device) for row in totals)
        if count < case.allocs:
            result.append(f"{len(totals)} recordings with {count} allocations; expected {case.allocs} or more")
    except (OSError, ValueError) as error:
        result.append(f"the recording cannot be read: {error}")
    if case.is_checked and glob.glob(os.path.join(glob.escape(found.run), "*.slog")):
        answer = tap.run([setting.stormlog, "fsck", found.run])
        if answer.returncode != 0:
            result.append(f"fsck ends with {answer.returncode}: {shorten(answer.stdout + answer.stderr)}")
    return result


def judge(case: Case, setting: Setting, plain: Outcome, found: Outcome) -> List[str]:
    faults = differences(case, plain, found)
    if not found.hang:
        faults += faults_of_recording(case, setting, found)
    if not faults and case.check:
        try:
            case.check(found)
        except AssertionError as error:
            faults.append(str(error))
    return faults


_torch: Dict[str, str] = {}


def need_torch(setting: Setting) -> None:
    """Skips unless the interpreter has a torch that sees the device."""
    key = setting.python + setting.device
    if key not in _torch:
        test = "torch.cuda.is_available()" if setting.device == "cuda" else "True"
        answer = tap.run([setting.python, "-c", f"import torch, sys; sys.exit(0 if {test} else 3)"], timeout=180) \
            if os.path.exists(setting.python) else None
        _torch[key] = "" if answer and answer.returncode == 0 else \
            f"{setting.python} has no torch" + (" that sees a CUDA device" if setting.device == "cuda" else "")
    if _torch[key]:
        tap.skip(_torch[key])


def need(case: Case, setting: Setting) -> None:
    tap.skip_if_sanitized(setting.stormlog)
    if is_python(case) and case.kind == "torch":
        need_torch(setting)
    if not is_python(case) and not os.path.exists(setting.program(case.program[0])):
        tap.skip(f"{case.program[0]} was not built (its libraries or headers are not installed)")
    if "root" in case.needs and os.geteuid() != 0:
        tap.skip("only root can do this")
    if "unshare" in case.needs and tap.run(["unshare", "-m", "true"]).returncode != 0:
        tap.skip("this machine lets nobody mount a file system of their own (unshare -m)")


def run_case(case: Case, setting: Setting, folder: str) -> None:
    """Raises AssertionError with everything that differs."""
    need(case, setting)
    faults = []
    for number in range(case.repeat):
        # In parallel: most of them wait rather than compute.
        modes = ["plain", *case.modes] if number == 0 else list(case.modes)
        running = {mode: Running(case, setting, mode, os.path.join(folder, f"{number}-{mode}")) for mode in modes}
        deadline = time.monotonic() + case.timeout_s
        outcomes = {mode: process.finish(deadline) for mode, process in running.items()}
        if number == 0:
            plain = outcomes.pop("plain")
            tap.true(not plain.hang, f"the plain program ends\n{plain.hang}")
            if plain.code == 77:
                tap.skip((plain.out + plain.err).strip() or "the program cannot run here")
            tap.equal(name_of(plain.code), name_of(case.exit), f"exit code of the plain program; standard error: {plain.err}")
        for mode, outcome in outcomes.items():
            turn = f" (repetition {number + 1} of {case.repeat})" if case.repeat > 1 else ""
            faults += [f"mode {mode}{turn}: {fault}" for fault in judge(case, setting, plain, outcome)]
        for mode in modes:
            shutil.rmtree(os.path.join(folder, f"{number}-{mode}"), ignore_errors=True)
    if faults:
        raise AssertionError(f"{case.proves}: not so\n" + "\n".join(faults[:12]))
