# SPDX-License-Identifier: MIT
"""What may happen to the recording's file while two threads allocate."""

from hostile_run import Case

ABUSE = """
import os, random, shutil, sys, time
from hostile_events import RUN_FOLDER, KIND, begin, churn, hold, native, recordings, say
how = sys.argv[1]
begin()
if KIND == "fake":
    from hostile_events import kit
    kit.kit_start(2)
hold(1000)
time.sleep(0.05)
def spoil(path):
    size = os.path.getsize(path)
    if how == "trunc0":
        os.truncate(path, 0)
    elif how == "trunchalf":
        os.truncate(path, 4096 * 20)
    elif how == "unlink":
        os.unlink(path)
    elif how == "move":
        os.rename(path, path + ".moved")
    elif how == "overwrite":
        with open(path, "r+b") as file:
            for at in range(0, min(size, 64 << 20), 1 << 20):
                file.write(b"\\xff" * (1 << 20))
    elif how == "garbage":
        dice = random.Random(int(sys.argv[2]))
        with open(path, "r+b", buffering=0) as file:
            for _ in range(3000):
                reach = dice.choice([4096, 65536, 1 << 20, size])
                file.seek(dice.randrange(0, min(reach, size)) & ~7)
                file.write(dice.choice([os.urandom(8), b"\\xff" * 8, b"\\x00" * 8, b"\\x00" * 7 + b"\\x7f"]))
    elif how == "punch":
        import ctypes
        fd = os.open(path, os.O_RDWR)
        ctypes.CDLL(None).fallocate(fd, 3, ctypes.c_long(0), ctypes.c_long(size))
        os.close(fd)
    elif how == "rmtree":
        shutil.rmtree(RUN_FOLDER)
    elif how == "readonly":
        os.chmod(path, 0o400)
        os.chmod(RUN_FOLDER, 0o500)
    elif how == "replace":
        with open(path + ".new", "wb") as file:
            file.write(b"not a recording")
        os.rename(path + ".new", path)
    elif how == "folder":
        os.unlink(path)
        os.mkdir(path)
for path in recordings():
    spoil(path)
hold(50000 if KIND == "fake" else 3000)
time.sleep(0.25)  # the helper thread has had its turn
hold(150000 if KIND == "fake" else 3000)
if KIND != "cuda" and os.fork() == 0:  # CUDA does not live in a child of fork
    churn(100)  # a child makes its own file, in whatever is left
    os._exit(0)
say(os.wait()[1] if KIND != "cuda" else 0)
churn(1000)
if KIND == "fake":
    kit.kit_stop()
say("goes on")
if how == "readonly" and RUN_FOLDER:
    os.chmod(RUN_FOLDER, 0o700)
sys.exit(7)
"""

# A child makes its own file, in whatever is left; then the program ends as it would have.
GO_ON = """if KIND != "cuda" and os.fork() == 0:  # CUDA does not live in a child of fork
    churn(100)
    os._exit(0)
say(os.wait()[1] if KIND != "cuda" else 0)
kit.kit_stop()
say("goes on")
sys.exit(7)
"""

FULL = """
import os, sys, time
from hostile_events import RUN_FOLDER, KIND, begin, churn, hold, kit, say
if sys.argv[1] == "later":
    begin()
    kit.kit_start(2)
    if RUN_FOLDER:
        with open(os.path.join(RUN_FOLDER, "ballast"), "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 65536)
            except OSError:
                pass
else:
    begin()
    kit.kit_start(2)
hold(300000)
time.sleep(0.3)
""" + GO_ON

REMOUNT = """
import ctypes, os, sys, time
from hostile_events import RUN_FOLDER, KIND, begin, churn, hold, kit, say
begin()
kit.kit_start(2)
if RUN_FOLDER:
    libc = ctypes.CDLL(None)
    if libc.mount(b"none", RUN_FOLDER.encode(), None, 1 | 32, None) != 0:  # read-only; busy while a file is open for writing
        libc.umount2(RUN_FOLDER.encode(), 2)  # so it is taken away from under the program
hold(300000)
time.sleep(0.2)
""" + GO_ON


def tmpfs(options):
    return ["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o {options} tmpfs 'RUN' && exec \"$@\"", "sh"]


def spoiled(how, proves, *args, name="", **more):
    return Case(name or " ".join([how, *args]), proves, ABUSE, args=[how, *args], exit=7, allocs=None, **more)


CASES = [
    spoiled("trunc0", "a file cut to nothing does not end the program", has_cuda=True),
    spoiled("trunchalf", "a file cut in the middle does not end the program", has_cuda=True),
    spoiled("unlink", "a file that is deleted does not end the program"),
    spoiled("move", "a file that is moved is still written"),
    spoiled("overwrite", "a file full of 0xff does not end the program"),
    *[spoiled("garbage", "random words all over the file do not end the program", str(seed)) for seed in range(1, 6)],
    spoiled("punch", "a hole in place of the file does not end the program"),
    spoiled("rmtree", "deleting the run folder does not end the program"),
    spoiled("readonly", "a run folder that becomes read-only with its file does not end the program"),
    spoiled("replace", "another file with the recording's name does not end the program"),
    spoiled("folder", "a folder with the recording's name does not end the program"),
    spoiled("trunc0", "a file cut to nothing does not end a program with a real torch", name="trunc0 torch", kind="torch"),
    Case("disk full 2m", "a disk too small for the file does not end the program", FULL, args=["first"], exit=7, allocs=None,
         outer=tmpfs("size=2m"), needs=["root", "unshare"]),
    Case("disk full 24m", "a disk too small for the file to grow does not end the program", FULL, args=["first"], exit=7, allocs=None,
         outer=tmpfs("size=24m"), needs=["root", "unshare"]),
    Case("disk full later", "a disk that fills up later does not end the program", FULL, args=["later"], exit=7, allocs=None,
         outer=tmpfs("size=64m"), needs=["root", "unshare"]),
    Case("no inodes", "a file system without free inodes does not end the program", FULL, args=["first"], exit=7, allocs=None,
         outer=tmpfs("nr_inodes=1"), needs=["root", "unshare"]),
    Case("mounted read-only", "a run folder that was never writable does not end the program", FULL, args=["first"], exit=7, allocs=None,
         outer=tmpfs("ro"), needs=["root", "unshare"]),
    Case("remounted", "a file system that becomes read-only, or is unmounted, does not end the program", REMOUNT, exit=7, allocs=None,
         outer=tmpfs("size=64m"), needs=["root", "unshare"]),
    *[Case(f"RLIMIT_FSIZE {size} KiB", "a limit on file sizes neither sends a signal to the program nor ends it",
           ["hostile_identity", "limit_fsize", str(size)], exit=7, allocs=None) for size in (8, 1024, 16384)],
    *[Case(f"RLIMIT_AS {room} MiB", "a limit on address space leaves the program its own memory",
           ["hostile_identity", "limit_as", str(room)], exit=7, allocs=None) for room in (1, 16, 64)],
    *[Case(f"RLIMIT_AS {room} MiB first", "the same limit before the first event", ["hostile_identity", "limit_as", str(room)],
           exit=7, allocs=None, env={"HOSTILE_LATE": "1"}) for room in (1, 64)],
]
