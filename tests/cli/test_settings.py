# SPDX-License-Identifier: MIT
"""Settings files: which one wins, what is refused and where it says so, what a project's file may never do. Arguments: the
program."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import tap
from cli import H200, ROOT, STORMLOG

LEAK = next(path for path in H200 if "s1_loss" in path.name)
NO_CAPACITY = ROOT / "tests" / "format" / "v1" / "closed.slog"
PROJECT_ONLY_REFUSED = ["run.share", "ranks.job", "agent.profiles", "agent.listen", "export.push", "export.service", "runs.keep",
                        "runs.older-than", "runs.max-size", "ship.endpoint"]


class Place:
    """A home, a git repository, and a folder inside it."""

    def __init__(self, folder):
        self.home, self.project = Path(folder) / "home", Path(folder) / "project"
        self.here = self.project / "sub" / "deep"
        (self.home / ".config" / "stormlog").mkdir(parents=True)
        (self.project / ".git").mkdir(parents=True)
        self.here.mkdir(parents=True)
        self.users = self.home / ".config" / "stormlog" / "config.toml"
        self.projects = self.project / "stormlog.toml"

    def run(self, *arguments, cwd=None, env=None, code=None):
        own = {name: value for name, value in os.environ.items() if not name.startswith("STORMLOG_")}
        env = {**own, "HOME": str(self.home), "XDG_CONFIG_HOME": "", "LC_ALL": "C.UTF-8", "COLUMNS": "200", **(env or {})}
        done = tap.run([STORMLOG, *map(str, arguments)], cwd=cwd or self.here, env=env)
        if code is not None:
            tap.equal(done.returncode, code, f"exit code of {arguments}: {done.stdout[:300]}{done.stderr}")
        return done

    def refused(self, text, expected, whose=None, command=("analyze", LEAK)):
        """The command refuses this file in one line, which has the file, the position and this text."""
        file = whose or self.projects
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        done = self.run(*command, code=3)
        tap.equal((done.stdout, len(done.stderr.splitlines())), ("", 1), f"{text!r}: one line: {done.stderr}")
        tap.equal(done.stderr, f"stormlog: {file}:{expected}\n", f"message for {text!r}")
        file.unlink()


def kind_of(text):
    return "json" if text.startswith("{") else "md" if text.startswith("#") else "txt"


@tap.test("the command line takes precedence over the project's file, then the user's file, then the default")
def _(folder):
    place = Place(folder)
    found = lambda *more, **options: kind_of(place.run("analyze", LEAK, *more, code=0, **options).stdout)  # noqa: E731
    tap.equal(found(), "txt", "the default")
    place.users.write_text('[analyze]\nformat = "md"\n')
    tap.equal(found(), "md", "the user's file")
    place.projects.write_text('[analyze]\nformat = "json"\n')
    tap.equal(found(), "json", "the project's file, from a folder inside the project")
    tap.equal(found("--format", "txt"), "txt", "the command line")
    tap.equal(found(cwd=folder), "md", "outside of the project")
    tap.equal(found(env={"STORMLOG_SETTINGS": "0"}), "txt", "no files at all")
    (place.here / "stormlog.toml").write_text("")
    tap.equal(found(), "md", "the nearest file is the project's, alone")
    tap.equal(found(env={"XDG_CONFIG_HOME": str(place.project / "none")}), "txt", "XDG_CONFIG_HOME names another place")


@tap.test("no settings file above the root of the repository is read, nor above this folder outside a repository")
def _(folder):
    place = Place(folder)
    (Path(folder) / "stormlog.toml").write_text('[analyze]\nformat = "json"\n')
    tap.equal(kind_of(place.run("analyze", LEAK, code=0).stdout), "txt", "above the repository")
    plain = Path(folder) / "plain" / "sub"
    plain.mkdir(parents=True)
    tap.equal(kind_of(place.run("analyze", LEAK, code=0, cwd=plain).stdout), "txt", "no repository: the folder above")
    (plain / "stormlog.toml").write_text('[analyze]\nformat = "json"\n')
    tap.equal(kind_of(place.run("analyze", LEAK, code=0, cwd=plain).stdout), "json", "no repository: this folder")


@tap.test("flags, numbers, sizes, lists and strings can be set, and the command line can switch a flag off again")
def _(folder):
    place = Place(folder)
    place.projects.write_text('[analyze]\nexplain = true\ntop = 2\nfail-on = ["leak", "oom"]\n'
                              'filter = "."\nformat = "json"\n[top]\nonce = true\n')
    done = place.run("analyze", LEAK)
    report = json.loads(done.stdout)
    tap.equal(done.returncode, 1, "fail-on")
    tap.equal(len(report["devices"][0]["top_live"]), 2, "top")
    explained = place.run("analyze", LEAK, "--format", "txt").stdout
    tap.contains(explained, "How this verdict was reached")
    plain = place.run("analyze", LEAK, "--format", "txt", "--no-explain").stdout
    tap.true("How this verdict was reached" not in plain, "--no-explain takes it back")
    place.projects.write_text("[analyze]\nexplain = false\n")
    tap.true("How this verdict was reached" not in place.run("analyze", LEAK).stdout, "false")
    bytes_of = lambda: json.loads(place.run("analyze", "-f", "json", NO_CAPACITY).stdout)["devices"][0]["capacity_bytes"]  # noqa: E731
    tap.equal(bytes_of(), None, "an input that does not name its card")
    for text in ('"80GiB"', str(80 << 30)):
        place.projects.write_text(f"[analyze]\ncapacity = {text}\n")
        tap.equal(bytes_of(), 80 << 30, f"capacity = {text}")


@tap.test("thresholds from a settings file are used by the analyses and shown in the evidence")
def _(folder):
    place = Place(folder)
    severity = lambda: [row["severity"] for row in json.loads(place.run("analyze", LEAK, "-f", "json").stdout)["findings"]  # noqa: E731
                        if row["kind"] == "leak"]
    tap.equal(severity()[0], "critical", "by default")
    place.projects.write_text('[thresholds]\nleak-critical-bytes = "1TiB"\n')
    tap.true(severity() and "critical" not in severity(), f"no leak is that large: {severity()}")
    place.projects.write_text("[thresholds]\nleak-critical-share = 1.0\n")
    tap.true("critical" not in severity(), "no leak is all of the memory")


@tap.test("the settings decide which folders count as the user's code")
def _(folder):
    place = Place(folder)
    site = lambda: json.loads(place.run("analyze", LEAK, "-f", "json").stdout)["findings"][0]["site"]  # noqa: E731
    before = site()
    stack = [frame["file"] for frame in before["stack"]]
    tap.true(any("site-packages" in file or "dist-packages" in file for file in stack), f"a stack through a library: {stack}")
    place.projects.write_text('[code]\nuser = ["torch"]\n')
    after = site()
    tap.contains(after["file"], "/torch/", "the innermost line of torch is the user's now")
    name = os.path.basename(os.path.dirname(before["file"]))
    tap.true(name != "", f"the user's line is in a folder: {before['file']}")
    for library in (os.path.dirname(before["file"]), name, name + "/"):
        place.projects.write_text(f'[code]\nlibrary = ["{library}"]\n')
        tap.true(site()["file"] != before["file"], f"code of {library} is not named")
    place.projects.write_text(f'[code]\nlibrary = ["{name}"]\nuser = ["{os.path.dirname(before["file"])}"]\n')
    tap.equal(site(), before, "of two folders that end at the same place the user's decides")
    place.projects.write_text(f'[code]\nlibrary = ["{name[:-1]}"]\n')
    tap.equal(site(), before, "half a name is no folder")


@tap.test("run passes settings to the recorder as variables; variables of the environment take precedence")
def _(folder):
    tap.skip_if_sanitized(STORMLOG)
    place = Place(folder)
    place.users.write_text("[run]\nshare = true\nno-cpu = true\n")
    place.projects.write_text('[run]\nstacks = "native"\ninterval = "250ms"\ncpu = true\nquiet = true\n')
    names = ("STORMLOG_STACKS", "STORMLOG_INTERVAL_MS", "STORMLOG_CPU", "STORMLOG_SHARE")
    script = "; ".join(f'echo "{name}=${name}"' for name in names)

    def variables(*options, env=None):
        text = place.run("run", *options, "--", "/bin/sh", "-c", script, code=0, env=env).stdout
        return dict(line.split("=", 1) for line in text.splitlines())

    tap.equal(variables(), dict(zip(names, ("native", "250", "1", "1"))), "from both files; the project's cpu wins over no-cpu")
    tap.equal(variables("--no-cpu", "--stacks", "none")["STORMLOG_CPU"], "0", "the command line")
    tap.equal(variables("--no-cpu", "--stacks", "none")["STORMLOG_STACKS"], "none", "the command line")
    tap.equal(variables(env={"STORMLOG_SHARE": "0"})["STORMLOG_SHARE"], "0", "the environment")
    info = json.loads(place.run("info", "-f", "json", env={"STORMLOG_SHARE": "0"}).stdout)["settings"]["values"]
    tap.equal([row["overruled_by"] for row in info if row["key"] == "run.share"], ["STORMLOG_SHARE"], "and info says so")


@tap.test("the recorder never reads settings files: a broken one does not affect a recorded process")
def _(folder):
    library = os.path.join(os.path.dirname(STORMLOG), "libstormlog_record.so")
    if not os.path.exists(library):
        tap.skip("this build has no recorder")
    with open(library, "rb") as file:
        content = file.read()
    for word in (b"stormlog.toml", b"config.toml", b"XDG_CONFIG_HOME"):
        tap.true(word not in content, f"{word} in the library that goes into programs")


@tap.test("a mistake is reported in one line: file, line, column, expected, found, the nearest name")
def _(folder):
    place = Place(folder)
    rows = [
        ('[analyze]\nformat = \n', "2:10: expected a string, a number, a boolean or an array, found the end of the line"),
        ('[analyze]\nformat = "jsn"\n', "2:10: 'format': 'jsn' is not one of txt|json|md|junit; did you mean 'json'?"),
        ("[analyze]\nformat = 3\n", "2:10: expected a string, found 3"),
        ('[analyze]\ntop = "5"\n', "2:7: expected a whole number, found 5"),
        ("[analyze]\ntop = 0\n", "2:7: 'top': 0 is outside 1 to 100000"),
        ("[analyze]\nexplain = 1\n", "2:11: expected true or false, found 1"),
        ("[analyze]\nfail-on = [1]\n", "2:11: expected an array of strings, found an array"),
        ("[analyze]\ncapacity = true\n", '2:12: expected a size such as "1GiB", found true'),
        ("[analyze]\nfromat = 1\n", "2:1: unknown key 'fromat' in [analyze]; did you mean 'format'?"),
        ("[analyze]\nzzzzzz = 1\n", "2:1: unknown key 'zzzzzz' in [analyze]; docs/settings.md lists them"),
        ("[analyse]\ntop = 1\n", "1:2: unknown table 'analyse'; did you mean [analyze]?"),
        ("[help]\nx = 1\n", "1:2: unknown table 'help'; docs/settings.md lists them"),
        ("[__doc]\ndir = 'x'\n", "1:2: unknown table '__doc'; docs/settings.md lists them"),
        ("top = 1\n", "1:1: expected a table such as [analyze] first, found the key 'top'"),
        ("[thresholds]\nspike-ratio = 0.5\n", "2:15: expected a number from 1 up, found 0.5"),
        ("[thresholds]\npending-share = 1.5\n", "2:17: expected a number from 0 to 1, found 1.5"),
        ('[thresholds]\nspike-bytes = "x"\n', '2:15: expected a size such as "64MiB", found x'),
        ("[thresholds]\nretry-warning = 0\n", "2:17: expected a whole number from 1 up, found 0"),
        ("[thresholds]\nspikeratio = 3\n", "2:1: unknown key 'spikeratio' in [thresholds]; did you mean 'spike-ratio'?"),
        ('[code]\nuser = "x"\n', "2:8: expected an array of folders, found x"),
        ('[code]\nuser = ["x", ""]\n', "2:14: expected a folder, found "),
        ('[output]\nlinks = "no"\n', "2:9: expected true or false, found no"),
        ('[run]\nalert-device = "200%"\n', "2:16: 'alert-device': expected 1% to 100%, or off, found '200%'"),
        ('[run]\ninterval = "1ms"\n', "2:12: 'interval': expected 10 to 60000 milliseconds, found '1ms'"),
        (b"[analyze]\nformat = \"\xff\"\n", "2:11: expected a character of UTF-8 text, found '?\"'"),
    ]
    for text, expected in rows:
        place.refused(text, expected)
    place.refused("[analyze]\ntop = 0\n", "2:7: 'top': 0 is outside 1 to 100000", whose=place.users)


@tap.test("a project's file cannot set a path or a server, remove runs or make files readable to others")
def _(folder):
    place = Place(folder)
    values = {"run.share": "true", "runs.keep": "0", "runs.older-than": '"1s"', "runs.max-size": "0",
              "export.push": '"http://x"', "export.service": '"x"', "ship.endpoint": '"http://x"', "ranks.job": '"x"',
              "agent.profiles": '"http://x"', "agent.listen": '"127.0.0.1:0"'}
    tap.equal(sorted(values), sorted(PROJECT_ONLY_REFUSED), "rows of this test")
    for key, value in values.items():
        table, name = key.split(".")
        place.refused(f"[{table}]\n{name} = {value}\n",
                      f"2:1: '{name}' of [{table}] cannot be set in a project's file; set it in your own, '{place.users}'")
    for table in ("run", "analyze", "report", "export", "plot", "diff", "check", "ranks", "diagnose"):
        for owner in (place.projects, place.users):
            place.refused(f'[{table}]\noutput = "/tmp/x"\n', "2:1: 'output' of [" + table + "] cannot be set in a file; give '--output' on "
                          "the command line", whose=owner)
    place.refused('[check]\nbaseline = "/etc/passwd"\n', "2:1: 'baseline' of [check] cannot be set in a file; give '--baseline' on the "
                  "command line")
    place.refused('[runs]\ndir = "/"\n', "2:1: 'dir' of [runs] cannot be set in a file; give '--dir' on the command line")


@tap.test("in the user's file the rules of 'runs prune' are defaults")
def _(folder):
    place = Place(folder)
    place.users.write_text("[runs]\nkeep = 1\n")
    for stamp in ("20200101T000000Z", "20200102T000000Z"):
        run = place.here / "stormlog-runs" / f"{stamp}-x"
        run.mkdir(parents=True)
        shutil.copy(ROOT / "tests" / "format" / "v1" / "closed.slog", run)
    tap.contains(place.run("runs", code=0).stdout, "2 runs, ")
    tap.contains(place.run("runs", "prune", "--dry-run", code=0).stdout, "would remove 1 of 2 runs")


@tap.test("a file that others may write to is ignored, with a message")
def _(folder):
    place = Place(folder)
    place.projects.write_text('[analyze]\nformat = "json"\n')
    place.projects.chmod(0o666)
    done = place.run("analyze", LEAK, code=0)
    tap.equal(kind_of(done.stdout), "txt", "not in effect")
    tap.equal(done.stderr, f"stormlog: settings in '{place.projects}' are ignored: everybody may write to it\n", "and it says so")
    place.projects.unlink()
    os.mkfifo(place.projects)
    tap.contains(place.run("analyze", LEAK, code=0).stderr, "it is not a regular file")


@tap.test("info shows the files, the values in effect and their origin, even if a file is wrong; help works then, too")
def _(folder):
    place = Place(folder)
    place.users.write_text('[analyze]\nformat = "md"\n[thresholds]\nspike-ratio = 3\n')
    place.projects.write_text('\n[analyze]\nformat = "json"\n[code]\nuser = ["a", "b"]\n')
    settings = json.loads(place.run("info", "-f", "json", code=0).stdout)["settings"]
    tap.equal([(row["whose"], row["path"], row["state"]) for row in settings["files"]],
              [("user", str(place.users), "read"), ("project", str(place.projects), "read")], "files")
    tap.equal([(row["key"], row["value"], row["line"], row["overruled_by"]) for row in settings["values"]],
              [("analyze.format", '"md"', 2, "stormlog.toml"), ("thresholds.spike-ratio", "3", 4, None),
               ("analyze.format", '"json"', 3, None), ("code.user", '["a", "b"]', 5, None)], "values")
    text = place.run("info", code=0).stdout
    tap.contains(text, f"{place.users} (read)")
    tap.contains(text, 'analyze.format = "md" (config.toml:2), overruled by stormlog.toml')
    place.projects.write_text("[analyze]\ntopp = 3\n")
    tap.contains(place.run("info", code=0).stdout, f"{place.projects}:2:1: unknown key 'topp' in [analyze]; did you mean 'top'?")
    tap.contains(place.run("info", "-f", "json", code=0).stdout, '"state": "bad"')
    for command in (["--help"], ["--version"], ["help"], ["analyze", "--help"], ["completion", "bash"]):
        place.run(*command, code=0)
    done = subprocess.run([os.path.join(os.path.dirname(STORMLOG), "gpumemprof"), "info"], cwd=place.here, capture_output=True, timeout=60)
    tap.equal(done.returncode, 0, "the names of before do not read it")


@tap.test("docs/settings.md lists every key of the program")
def _():
    document = (ROOT / "docs" / "settings.md").read_text()
    keys = tap.run([STORMLOG, "__settings"]).stdout
    tap.true(keys.count("\n| `") > 60, f"keys: {keys[:200]}")
    found = document.split("## Keys\n\n")[1]
    tap.equal(found, keys, "the section Keys; renew it with 'build/stormlog __settings'")
    refused = [line.split("`")[1] for line in keys.splitlines() if line.startswith("| `") and line.split(" | ")[-2] == "no"]
    tap.equal(refused, [key.split(".")[1] for key in PROJECT_ONLY_REFUSED], "keys that a project's file may not have")


tap.main()
