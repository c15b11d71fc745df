# SPDX-License-Identifier: MIT
"""Output: full disks, readers that close the pipe early, terminals and colour."""

import json
import os
import pty
import re
from pathlib import Path

import tap
from cli import FONTS, H200, ROOT, STORMLOG, good, stormlog


def to_full_disk(*arguments):
    with open("/dev/full", "w") as full:
        return tap.run([STORMLOG, *map(str, arguments)], stdout=full, stderr=-1, capture_output=False)


@tap.test("a full disk gives exit code 4 and the reason")
def _():
    for arguments in (("info",), ("--help",), ("export", H200[0], "--to", "folded"), ("completion", "bash")):
        done = to_full_disk(*arguments)
        tap.equal(done.returncode, 4, f"{arguments}")
        tap.contains(done.stderr, "No space left on device")
        tap.equal(len(done.stderr.splitlines()), 1, "lines of standard error")


@tap.test("a full disk while a file is written: the message names it, and nothing is left there")
def _(folder):
    for command, name in (("export --to folded", "f"), ("export --to events-json", "f"), ("export --to csv", "f"), ("report", "page.html"),
                          ("plot", "p.svg"), ("plot", "p.png"), ("analyze --format json", "a.json"), ("analyze --top 1000 --explain", "a.txt")):
        out = f"{folder}/{name}"
        done = tap.run(["bash", "-c", f"trap '' XFSZ; ulimit -f 1; exec '{STORMLOG}' {command} '{H200[0]}' -o '{out}'"],
                       env={**os.environ, **FONTS})
        tap.equal(done.returncode, 4, command)
        tap.equal(done.stderr, f"stormlog: cannot write '{out}': File too large\n", command)
        tap.equal((len(done.stderr.splitlines()), os.listdir(folder)), (1, []), done.stderr)


@tap.test("a reader that closes the pipe early causes no message")
def _():
    for ignore in ("", "trap '' PIPE; "):
        done = tap.run(["bash", "-c", f"{ignore}'{STORMLOG}' export '{H200[0]}' --to events-json | head -c 10"])
        tap.equal(done.stderr, "", "standard error")
        tap.equal(done.stdout, '{"schema":', "standard output")


@tap.test("a page carries the copyright notices and licences of what it embeds")
def _(folder):
    with open(ROOT / "web/package.json", encoding="utf-8") as file:
        embedded = json.load(file)["dependencies"]
    good("report", H200[0], "-o", f"{folder}/p.html")
    with open(f"{folder}/p.html", encoding="utf-8") as file:
        comments = "\n".join(re.findall("<!--(.*?)-->", file.read(), re.DOTALL))
    tap.equal(sorted(embedded), ["fflate", "uplot"], "embedded")
    for name, holder in (("uplot", "Leon Sorokin"), ("fflate", "Arjun Barrett")):
        notice = comments.split(f"This page contains {name} {embedded[name]}:")[-1].split("This page contains")[0]
        tap.true(re.search(rf"Copyright \(c\) \d+ {holder}", notice), f"copyright of {name}")
        tap.contains(notice, "The above copyright notice and this permission notice shall be included in")
        tap.contains(notice, 'THE SOFTWARE IS PROVIDED "AS IS"')


def on_terminal(arguments, env):
    """Standard output of the program on a terminal of its own."""
    master, slave = pty.openpty()
    process = tap.subprocess.Popen([STORMLOG, *map(str, arguments)], stdout=slave, stderr=slave, stdin=slave,
                                   env={**os.environ, "TERM": "xterm", **env})
    os.close(slave)
    text = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
    os.close(master)
    process.wait()
    return text.decode()


@tap.test("colour is used on a terminal, but not with NO_COLOR, in a pipe or with TERM=dumb")
def _():
    arguments = ["analyze", H200[0]]
    plain = stormlog(*arguments, env={"NO_COLOR": ""}).stdout
    tap.true("\x1b" not in plain, "no colour in a pipe")
    colored = on_terminal(arguments, {"NO_COLOR": ""}).replace("\r\n", "\n")
    tap.contains(colored, "\x1b[1;31mLeak")
    tap.equal(re.sub("\x1b\\[[0-9;]*m|\x1b\\]8;;[^\x1b]*\x1b\\\\", "", colored), plain, "colours and links change no letter")
    tap.equal(on_terminal(arguments, {"NO_COLOR": "1"}).replace("\r\n", "\n"), plain, "NO_COLOR")
    tap.equal(on_terminal(arguments, {"NO_COLOR": "", "TERM": "dumb"}).replace("\r\n", "\n"), plain, "a dumb terminal")


@tap.test("a slow input shows its progress on a terminal and erases it at the end")
def _(folder):
    fifo = os.path.join(folder, "slow.pickle")
    os.mkfifo(fifo)
    script = "import gzip, sys, time\ndata = gzip.open(sys.argv[1]).read()\nout = open(sys.argv[2], 'wb', 0)\nparts = 16\n" \
             "for i in range(parts):\n    out.write(data[i * len(data) // parts:(i + 1) * len(data) // parts])\n    time.sleep(0.12)\n"
    feeder = tap.subprocess.Popen(["/usr/bin/python3", "-c", script, str(H200[0]), fifo])
    text = on_terminal(["analyze", fifo], {"NO_COLOR": "1"})
    feeder.wait()
    tap.contains(text, "\rreading ")
    tap.contains(text, "\r\x1b[KLeak: ")


@tap.test("a pickle is not written to a terminal")
def _():
    tap.contains(on_terminal(["export", H200[0]], {}), "is binary; write it to a file with -o")


@tap.test("writing to a folder, or into one that does not exist, is an error")
def _(folder):
    done = stormlog("analyze", H200[0], "-o", folder)
    tap.equal(done.returncode, 2, done.stderr)
    done = stormlog("export", H200[0], "-o", os.path.join(folder, "none", "x"))
    tap.equal(done.returncode, 4, done.stderr)
    tap.equal(os.listdir(folder), [], "files left behind")


@tap.test("export into a folder names the file after the input")
def _(folder):
    done = stormlog("export", H200[0], "--to", "folded", "-o", folder)
    name = os.path.basename(str(H200[0])).split(".pickle")[0] + ".folded"
    tap.equal((done.returncode, done.stdout), (0, f"{folder}/{name}\n"), done.stderr)
    tap.equal(os.listdir(folder), [name], "files")


def put_opener(folder, body):
    path = folder / "xdg-open"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@tap.test("report --open passes the page to xdg-open without a shell, or prints its path")
def _(folder):
    folder = Path(folder).resolve()
    page, seen = folder / "it's $(touch oops) a page.html", folder / "seen"
    report = lambda path: stormlog("report", H200[0], "-o", page, "--open", env={"PATH": str(path)}, cwd=folder)  # noqa: E731
    put_opener(folder, f"printf '%s' \"$#:$1\" > '{seen}'")
    done = report(folder)
    tap.equal((done.returncode, done.stderr), (0, ""), "opened")
    tap.equal(seen.read_text(), f"1:{page}", "what xdg-open was given")
    put_opener(folder, "exit 3")
    done = report(folder)
    tap.equal(done.returncode, 0, "the page was made")
    tap.contains(done.stderr, f"found no browser; the page is '{page}'")
    done = report(folder / "nowhere")
    tap.equal(done.returncode, 0, "the page was made")
    tap.contains(done.stderr, f"not installed; the page is '{page}'")
    tap.true(page.exists() and not (folder / "oops").exists(), "a page, and nothing else was run")
    done = stormlog("report", H200[0], "-o", "-", "--open")
    tap.equal(done.returncode, 2, "standard output cannot be opened")


tap.main()
