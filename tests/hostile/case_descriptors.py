# SPDX-License-Identifier: MIT
"""Programs that close, reuse, exhaust and count descriptors."""

import os

from hostile_run import Case

MIB = 1 << 20


def user_files(folder):
    """A checkpoint of 64 MiB, mostly holes, and a small log."""
    with open(os.path.join(folder, "checkpoint.bin"), "wb") as file:
        file.write(b"weights " * 1000)
        file.seek(32 * MIB)
        file.write(b"optimizer " * 1000)
        file.truncate(64 * MIB)
    with open(os.path.join(folder, "small.log"), "wb") as file:
        file.write(b"begun\n")


CLOSE_ALL = """
import os, sys, time
from hostile_events import KIND, begin, churn, hold, say
begin()
if KIND == "cuda":  # the driver's own descriptors must stay
    for name in os.listdir("/proc/self/fd"):
        path = os.readlink("/proc/self/fd/" + name) if os.path.islink("/proc/self/fd/" + name) else ""
        if int(name) > 2 and os.path.isfile(path):
            os.close(int(name))
else:
    os.closerange(3, 65536)
first = sys.argv[1] if len(sys.argv) > 1 else "user"
if first == "checkpoint":
    checkpoint = os.open("checkpoint.bin", os.O_RDWR)
if first == "log":
    log = os.open("small.log", os.O_RDWR | os.O_APPEND)
files = []
for i in range(6):
    file = open("user%d.dat" % i, "w+b", buffering=0)
    file.write(b"precious data %d\\n" % i)
    files.append(file)
if first != "checkpoint":
    checkpoint = os.open("checkpoint.bin", os.O_RDWR)
if first != "log":
    log = os.open("small.log", os.O_RDWR | os.O_APPEND)
os.write(log, b"hello\\n")
hold(20000 if KIND == "cuda" else 150000)
time.sleep(0.3)
os.write(log, b"again\\n")
for file in files:
    say(file.name, os.fstat(file.fileno()).st_size)
    file.write(b"more\\n")
say(os.fstat(checkpoint).st_size, os.fstat(log).st_size)
if "stop" in sys.argv:
    from hostile_events import stop
    stop()
    files[0].write(b"after the stop\\n")
"""

PRINT_TABLE = """
def table():
    found = []
    for name in sorted(os.listdir("/proc/self/fd"), key=int):
        try:
            found.append("%s %s" % (name, os.readlink("/proc/self/fd/" + name).replace(os.getcwd(), "")))
        except OSError:
            pass  # the descriptor of the listing itself
    return [line for line in found if int(line.split()[0]) < 100]
"""

NULL_EVERYWHERE = """
import os, time
from hostile_events import begin, hold, churn, say
""" + PRINT_TABLE + """
begin()
null = os.open("/dev/null", os.O_RDWR)
os.dup2(null, 1023)
os.closerange(3, 1023)
for number in range(3, 256):
    os.dup2(1023, number)
hold(150000)
time.sleep(0.2)
say(table())
for number in range(3, 256):
    os.close(number)  # each is still there
churn(1000)
"""

DUP_OVER = """
import os, resource, time
from hostile_events import begin, hold, say
begin()
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
mine = os.open("mine.dat", os.O_CREAT | os.O_RDWR, 0o640)
os.write(mine, b"precious\\n")
top = min(soft, 1024)
for number in range(3, top):
    if number != mine:
        os.dup2(mine, number)
hold(150000)
time.sleep(0.2)
os.write(mine, b"written at the end\\n")
os.lseek(mine, 0, os.SEEK_SET)
say(os.read(mine, 100), os.fstat(mine).st_size)
facts = {(os.fstat(number).st_ino == os.fstat(mine).st_ino) for number in range(3, top)}
say(facts)
"""

EXHAUSTED = """
import os, resource, sys, time
from hostile_events import begin, churn, hold, say
if sys.argv[1] == "running":
    begin()
    churn(10)
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
opened = []
try:
    while True:
        opened.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error:
    say(error)
say([number for number in opened if number < 100])
if sys.argv[1] == "before":
    begin()
hold(120000)
time.sleep(0.2)
for number in opened:
    os.close(number)
churn(1000)
file = open("mine.dat", "w+b", buffering=0)
file.write(b"mine\\n")
say(file.fileno() < 100)
hold(100000)
"""

STANDARD_THREE = """
import os, sys
from hostile_events import begin, hold
facts = []
def try_it(what, function, *args):
    try:
        facts.append("%s: %r" % (what, function(*args)))
    except OSError as error:
        facts.append("%s: %s" % (what, error.strerror))
def look():
    for number in (0, 1, 2):
        try_it("kind of %d" % number, lambda: oct(os.fstat(number).st_mode & 0o170000))
look()
begin()
for i in range(100):
    for number in (1, 2):
        try_it("write %d" % number, os.write, number, b"step %d: an ordinary line of a training, loss=0.123\\n" % i)
    try_it("read", os.read, 0, 8)
    hold(1000)
look()
try_it("seek", os.lseek, 2, 0, os.SEEK_SET)
try_it("truncate", os.ftruncate, 2, 0)
with open("first.dat", "w+b", buffering=0) as one, open("second.dat", "w+b", buffering=0) as two:
    one.write(b"first"); two.write(b"second")
    hold(10000)
    facts.append(str((one.fileno(), two.fileno())))
with open("facts.txt", "w") as file:
    file.write("\\n".join(line for i, line in enumerate(facts) if i == 0 or line != facts[i - 1]))
"""

CHILD_COUNT = """
import os, subprocess, sys, time
from hostile_events import begin, hold, say
LIST = "import os; print(sorted(int(name) for name in os.listdir('/proc/self/fd')))"
mine = os.open("mine.dat", os.O_CREAT | os.O_RDWR, 0o600)
os.set_inheritable(mine, True)
begin()
hold(120000)
time.sleep(0.1)
clean = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "HOSTILE_LIBRARY")}
for env in (clean, None):  # None: the child is recorded, too
    say(subprocess.run([sys.executable, "-S", "-c", LIST], close_fds=False, stdout=subprocess.PIPE, env=env).stdout.decode())
    child = os.fork()
    if child == 0:
        os.execve("/bin/sh", ["sh", "-c", "ls /proc/self/fd | wc -l"], clean)
    os.waitpid(child, 0)
say(os.system("ls /proc/self/fd | wc -l"))
"""

NUMBERS = """
import os, sys, threading, time
from hostile_events import begin, churn, hold, say
def numbers(what):
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(5)]
    reading, writing = os.pipe()
    say(what, opened, reading, writing)
    for number in opened + [reading, writing]:
        os.close(number)
numbers("before")
begin()
time.sleep(0.3)  # the driver's library, a stand-in here, is loaded by then; its file needs a number meanwhile
numbers("after the first event")
hold(150000)
time.sleep(0.2)
numbers("after the recording has grown")
thread = threading.Thread(target=numbers, args=("in a thread",))
thread.start(); thread.join()
if os.fork() == 0:
    numbers("in a child")
    churn(10)
    numbers("in a child after its first event")
    os._exit(0)
os.wait()
churn(1000)
numbers("after a fork")
os.close(0)
churn(1000)
numbers("after standard input was closed")
say([int(name) for name in sorted(os.listdir("/proc/self/fd"), key=int) if int(name) < 100])
"""

API_CLOSE = """
import os
from hostile_events import churn, hold, record, say
recording = record()
churn(10)
os.closerange(3, 256)
mine = open("mine.log", "w+b", buffering=0)
mine.write(b"precious\\n")
recording.stop()
say("size after stop", os.path.getsize("mine.log"))
mine.write(b"more\\n")
say(os.path.getsize("mine.log"), mine.fileno())
"""


def standard_three():
    """One case per combination of closed descriptors; both ways to close them: before `stormlog run`, and inside."""
    for number in range(1, 8):
        closed = [i for i in range(3) if number & 1 << i]
        shell = "exec \"$@\" " + " ".join(f"{i}<&-" if i == 0 else f"{i}>&-" for i in closed)
        name = "closed " + ", ".join(("stdin", "stdout", "stderr")[i] for i in closed)
        for where, words in (("outer", {"outer": ["sh", "-c", shell, "sh"]}), ("inner", {"inner": ["sh", "-c", shell, "sh"]})):
            yield Case(f"{name} ({'before' if where == 'outer' else 'under'} stormlog run)",
                       "the numbers 0 to 2 stay the program's; what it writes there never reaches the recording",
                       STANDARD_THREE, modes=("run", "api") if where == "inner" else ("run",), allocs=100000,
                       has_cuda=where == "inner" and number in (4, 7), has_cuda_text=False, **words)


CASES = [
    Case("closefds torch", "user's files take the numbers of closed descriptors and stay as they are", CLOSE_ALL, kind="torch",
         prepare=user_files, has_cuda=True),
    *[Case(f"closefds {first}", f"the {what} takes the number of the recorder's descriptor and stays as it is", CLOSE_ALL,
           args=[first], prepare=user_files, every_python=first == "user")
      for first, what in (("user", "first of some new files"), ("checkpoint", "checkpoint of 64 MiB"), ("log", "log"))],
    Case("closefds stop", "stop() does nothing to a file that has its old number", CLOSE_ALL, args=["stop"], prepare=user_files,
         modes=("api",)),
    Case("closefds seccomp few", "the same where process_vm_readv, membarrier, fallocate and madvise are refused", CLOSE_ALL,
         prepare=user_files, inner=["PROGRAMS/hostile_seccomp", "few"], allocs=0),
    Case("closefds seccomp many", "the same where many more system calls are refused", CLOSE_ALL,
         prepare=user_files, inner=["PROGRAMS/hostile_seccomp", "many"], allocs=0),
    Case("apifd", "record(), close everything, open a file, stop(): the file is untouched", API_CLOSE, kind="torch",
         modes=("api",)),
    Case("null everywhere", "/dev/null on each closed number stays /dev/null", NULL_EVERYWHERE),
    Case("dup over all", "a file dup2'ed over every number keeps its bytes and its numbers", DUP_OVER),
    Case("exhausted before", "no descriptor is left at the first event: the program runs on", EXHAUSTED, args=["before"], allocs=0),
    Case("exhausted running", "descriptors run out later: the program runs on with its own numbers", EXHAUSTED, args=["running"]),
    *standard_three(),
    Case("children", "no descriptor of the recorder crosses an exec", CHILD_COUNT, allocs=120000),
    Case("numbers", "open() gives the number it would have given", NUMBERS),
]
