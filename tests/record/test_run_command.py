# SPDX-License-Identifier: MIT
"""`stormlog run` as a command: what it says, refuses and passes on. Argument: the program."""

import os
import re
import resource
import shutil
import signal
import struct
import subprocess

import tap
from plain_torch import PYTHON, need_torch
from recorded_run import clean_env, need_preload, one, python, record, stormlog

LIBRARY = os.path.join(os.path.dirname(stormlog), "libstormlog_record.so")


@tap.test("with STORMLOG_DISABLE=1 nothing is recorded, and one line says so")
def _(folder):
    result, totals = record(folder, *python(folder, "import torch; print(torch.ones(1))"),
                            env=clean_env(STORMLOG_DISABLE="1"))
    tap.equal(result.stdout, "tensor([1.])\n")
    tap.equal(os.path.exists(os.path.join(folder, "run")), False, "a folder was left")
    tap.contains(result.stderr, "recording is disabled: STORMLOG_DISABLE is set")


@tap.test("a folder that cannot be written to gives one line, and the program continues")
def _(folder):
    need_torch(stormlog)
    result = tap.run(python(folder, "import torch; print(torch.ones(1), torch.ones(2))"),
                     env=clean_env(LD_PRELOAD=LIBRARY, STORMLOG_DIR="/proc/nowhere/run"))
    tap.equal(result.returncode, 0)
    tap.equal(result.stdout, "tensor([1.]) tensor([1., 1.])\n")
    tap.equal(len(result.stderr.splitlines()), 1, "lines on stderr: " + result.stderr)
    tap.contains(result.stderr, "/proc/nowhere/run")


@tap.test("without permission for the folder of -o there is one line, and the program runs unrecorded")
def _(folder):
    need_preload()
    closed = os.path.join(folder, "closed")
    os.mkdir(closed, 0o555)
    places = ["/proc/nowhere/run", os.path.join(folder, "closed", "run")]
    for place in places[:1] if os.geteuid() == 0 else places:
        result = tap.run([stormlog, "run", "-o", place, "--", "sh", "-c", "echo on; exit 6"], env=clean_env())
        tap.equal((result.returncode, result.stdout), (6, "on\n"), result.stderr)
        tap.equal(len(result.stderr.splitlines()), 1, result.stderr)
        tap.contains(result.stderr, f"cannot create the folder '{place}'")
        tap.contains(result.stderr, "it runs unrecorded")


@tap.test("a full disk gives one line at the start, or a counted loss later, and the program continues")
def _(folder):
    need_torch(stormlog)
    place, source = os.path.join(folder, "small"), python(folder, """
import torch
for i in range(400000):
    torch.empty(64)
print("done")
""")
    os.mkdir(place)
    if tap.run(["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place]).returncode != 0:
        tap.skip("no small file system can be mounted here")

    def run_in(size):
        command = f"mount -t tmpfs -o size={size} tmpfs {place} && '{stormlog}' run -o {place}/run -- {' '.join(source)};" \
                  f" echo exit $?; ls -A {place}; '{stormlog}' fsck {place}/run"
        return tap.run(["unshare", "-rm", "sh", "-c", command], env=clean_env())

    result = run_in("2m")
    tap.equal(result.stdout, "done\nexit 0\n", "nothing is left; " + result.stderr)
    tap.contains(result.stderr, "stormlog: not recording: cannot create ")
    tap.contains(result.stderr, "No space left on device; the program continues")
    result = run_in("24m")
    tap.true(result.stdout.startswith("done\nexit 0\n"), result.stdout + result.stderr)
    tap.contains(result.stdout, "regions that could not grow (disk full?)")
    tap.contains(result.stdout, "no damage found")


@tap.test("without space for the file there is one line, no file is left, and the program continues")
def _(folder):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    result, totals = record(folder, *python(folder, "import torch; print(torch.ones(1))"), preexec_fn=limit)
    tap.equal(result.stdout, "tensor([1.])\n")
    tap.contains(result.stderr, "stormlog: not recording: ")
    tap.equal(len(totals), 0, "recordings left")


@tap.test("the exit code is the program's, 127 if it does not exist, and 126 if it is not executable")
def _(folder):
    need_preload()
    env, out = clean_env(), os.path.join(folder, "x")

    def run(*command):
        result = tap.run([stormlog, "run", "-o", out, "--", *command], env=env)
        return result.returncode, result.stderr

    tap.equal(run("sh", "-c", "exit 7"),
              (7, "stormlog: nothing was recorded: no process wrote memory events; if ssh, a container or 'env -i' starts the program, "
                  "put 'stormlog run --' directly before it\n"))
    tap.equal(run("sh", "-c", "kill -SEGV $$")[0], 128 + signal.SIGSEGV)
    tap.equal(run("no-such-command"), (127, "stormlog: cannot run 'no-such-command': there is no such command in PATH\n"))
    tap.equal(run("/etc/passwd"), (126, "stormlog: cannot run '/etc/passwd': it is not executable\n"))
    tap.equal(os.path.exists(out), False, "an empty folder was left")


def build_static(folder, text):
    source, program = os.path.join(folder, "s.c"), os.path.join(folder, "static")
    with open(source, "w") as file:
        file.write(text)
    if not shutil.which("gcc") or tap.run(["gcc", "-static", "-o", program, source]).returncode != 0:
        tap.skip("no gcc, or no static libc, to build the case with")
    return program


@tap.test("a program that is linked statically runs unrecorded, with a message")
def _(folder):
    static = build_static(folder, '#include <unistd.h>\nint main(void) { return write(1, "hello\\n", 6) == 6 ? 3 : 4; }\n')
    result = tap.run([stormlog, "run", "--", static], env=clean_env(), cwd=folder)
    tap.equal((result.returncode, result.stdout), (3, "hello\n"))
    tap.equal(result.stderr, f"stormlog: nothing was recorded of '{static}': it is statically linked, so no library can be loaded into it; "
                             "no program that it started wrote memory events either\n")
    tap.equal(sorted(os.listdir(folder)), ["s.c", "static"], "files left")


@tap.test("what a static launcher starts (dumb-init, gosu, py-spy) is recorded")
def _(folder):
    python = tap.python_with("torch")
    tap.skip_if_sanitized(stormlog)
    launcher = build_static(folder, "#include <unistd.h>\nint main(int n, char **argv) { return n > 1 ? execvp(argv[1], argv + 1) : 1; }\n")
    result = tap.run([stormlog, "run", "--", launcher, python, "-c", "import torch; torch.zeros(1000)"], env=clean_env(), cwd=folder)
    tap.equal((result.returncode, result.stdout), (0, ""), result.stderr)
    tap.contains(result.stderr, "recorded 1 process in stormlog-runs/")


@tap.test("a 32-bit program runs unrecorded, with a message")
def _(folder):
    path = os.path.join(folder, "program32")
    code = bytes([0xb8, 1, 0, 0, 0, 0xbb, 5, 0, 0, 0, 0xcd, 0x80])      # exit(5), by the i386 system call
    header = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0x8048054, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    segment = struct.pack("<IIIIIIII", 1, 0, 0x8048000, 0x8048000, 84 + len(code), 84 + len(code), 5, 0x1000)
    with open(path, "wb") as file:
        file.write(header + segment + code)
    os.chmod(path, 0o755)
    try:
        if subprocess.run([path]).returncode != 5:
            tap.skip("this kernel does not run 32-bit programs as expected")
    except OSError as error:
        tap.skip(f"this kernel runs no 32-bit programs: {error}")
    result = tap.run([stormlog, "run", "--", path], env=clean_env(), cwd=folder)
    tap.equal(result.returncode, 5, result.stderr)
    tap.contains(result.stderr, "it is not a 64-bit program for this processor; it runs unrecorded")
    tap.equal(os.listdir(folder), ["program32"], "files left")


@tap.test("a setuid program runs unrecorded, with a message")
def _(folder):
    path = os.path.join(folder, "id")
    shutil.copy("/usr/bin/id", path)
    if os.geteuid() != 0:
        tap.skip("only root can make a program of another owner")
    os.chown(path, 12345, -1)
    os.chmod(path, 0o4755)
    result = tap.run([stormlog, "run", "--", path, "-u"], env=clean_env(), cwd=folder)
    tap.equal((result.returncode, len(result.stderr.splitlines())), (0, 1), result.stderr)
    tap.contains(result.stderr, "it is setuid, setgid or has capabilities")
    tap.equal(os.listdir(folder), ["id"], "files left")
    os.chown(path, os.geteuid(), -1)
    os.chmod(path, 0o4755)
    result = tap.run([stormlog, "run", "--", path, "-u"], env=clean_env(), cwd=folder)
    tap.contains(result.stderr, "no process wrote memory events", "the caller's own program gains no rights: it is recorded")


@tap.test("a run with an alert says so once, and top shows it")
def _(folder):
    source = python(folder, "import time, torch\nx = torch.ones(1)\ntime.sleep(0.5)\n")
    result, _ = record(folder, *source, options=["--alert-host", "1%"])
    lines = [line for line in result.stderr.splitlines() if "alert" in line]
    tap.equal(len(lines), 1, result.stderr)
    tap.contains(lines[0], "stormlog: alert: host: 1 % or more of the host's memory is used (")
    tap.contains(tap.run([stormlog, "top", f"{folder}/run"]).stdout, ": 1 % or more of the host's memory is used")
    os.mkdir(f"{folder}/off")
    result, totals = record(f"{folder}/off", *source, options=["--alert-host", "off", "--alert-device", "off"])
    tap.true("alert" not in result.stderr, result.stderr)
    for wrong in ("0", "101%", "9x", "-1"):
        result = tap.run([stormlog, "run", "--alert-device=" + wrong, "--", "true"])
        tap.equal((result.returncode, result.stderr),
                  (2, f"stormlog: option '--alert-device': expected 1% to 100%, or off, found '{wrong}'; see 'stormlog run --help'\n"))


@tap.test("a value outside its limits is refused before the command runs")
def _():
    for options, expected in (
            (["--interval", "9ms"], "option '--interval': expected 10 to 60000 milliseconds, found '9ms'"),
            (["--interval", "2min"], "option '--interval': expected 10 to 60000 milliseconds, found '2min'"),
            (["--ring", "2TiB"], "option '--ring': expected at most 1.00 TiB, such as 256MiB, found '2TiB'"),
            (["--cpu", "--no-cpu"], "give either --cpu or --no-cpu, not both")):
        result = tap.run([stormlog, "run", *options, "--", "echo", "ran"])
        tap.equal((result.returncode, result.stdout, result.stderr.split("; see")[0].strip()),
                  (2, "", "stormlog: " + expected), " ".join(options))


@tap.test("signals are passed on to the program")
def _(folder):
    need_preload()
    process = subprocess.Popen([stormlog, "run", "-o", os.path.join(folder, "run"), "--", PYTHON, "-u", "-c", """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(55))
print("ready")
signal.pause()
"""], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_env())
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    tap.equal(process.returncode, 55, "the handler's own exit code")


@tap.test("`latest` in the default folder is the last recorded run; a run without memory events leaves nothing")
def _(folder):
    need_torch(stormlog)
    env = clean_env()
    tap.run([stormlog, "run", "--", "true"], env=env, cwd=folder, check=True)
    tap.equal(os.listdir(folder), [], "left after a run without memory")
    command = python(folder, "import torch; torch.ones(1)")
    tap.run([stormlog, "run", "--", *command], env=env, cwd=folder, check=True)
    runs = os.path.join(folder, "stormlog-runs")
    names = sorted(os.listdir(runs))
    tap.equal(len(names), 2, "entries")
    tap.true(re.fullmatch(r"\d{8}T\d{6}Z-program", names[0]), f"name of the run: {names[0]}")
    tap.equal(os.readlink(os.path.join(runs, "latest")), names[0], "latest")
    tap.run([stormlog, "run", "--", "true"], env=env, cwd=folder, check=True)
    tap.equal(sorted(os.listdir(runs)), names, "entries after a run without memory")
    tap.equal(os.readlink(os.path.join(runs, "latest")), names[0], "latest, restored")


@tap.test("the three lines at the end say where the run is, what it shows, and what to type next")
def _(folder):
    result, totals = record(folder, *python(folder, """
import os, torch
net = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
kept = []
for i in range(200):
    optimizer.zero_grad(); net(torch.randn(8, 64)).sum().backward(); optimizer.step()
    kept.append(torch.ones(1000))
os._exit(0)
"""))
    lines = result.stderr.splitlines()
    tap.equal(len(lines), 3, "closing lines: " + result.stderr)
    tap.equal(lines[0], f"stormlog: recorded 1 process in {folder}/run")
    tap.contains(lines[1], "stormlog: Leak: ")
    tap.contains(lines[1], "program.py:8 in <module> leaks 3.91 KiB per step")
    tap.equal(lines[2], f"stormlog: next: stormlog analyze {totals[0].path}")
    tap.equal(tap.run([stormlog, *lines[2].split()[3:]]).returncode, 0, "exit code of what it says to type")
    picture = tap.run([stormlog, "top", f"{folder}/run"])
    tap.equal(picture.returncode, 0, picture.stderr)
    tap.contains(picture.stdout, "781 KiB        200  ")
    tap.contains(picture.stdout, "program.py:8 in <module>\n")


@tap.test("top reports a process that is not recorded, or has recorded nothing yet")
def _(folder):
    plain = subprocess.Popen(["sleep", "60"], env=clean_env())
    idle = subprocess.Popen(["sleep", "60"], env={**clean_env(), "STORMLOG_DIR": folder})
    try:
        for process, words in ((plain, "nor a child of it is recorded"), (idle, "has not allocated PyTorch memory yet")):
            done = tap.run([stormlog, "top", "--once", str(process.pid)])
            tap.equal(done.returncode, 3, "exit code")
            tap.contains(done.stderr, words)
    finally:
        for process in (plain, idle):
            process.kill()
            process.wait()


tap.main()
