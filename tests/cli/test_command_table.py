# SPDX-License-Identifier: MIT
"""Every command of the program has help, a manual page, completion and a page in docs/cli."""

import os
import shutil

import tap
from cli import ROOT, STORMLOG, commands, fits, good, stormlog

COMMANDS = commands()


@tap.test("help fits into 80 columns and lists every option once")
def _():
    fits(good("--help"), "--help")
    for name in COMMANDS:
        text = good(name, "--help")
        fits(text, name)
        tap.contains(text, f"usage: stormlog {name}")
        options = [line.split()[0].rstrip(",") for line in text.splitlines() if line.startswith("  -")]
        tap.equal(len(options), len(set(options)), f"{name}: options listed twice")
        tap.equal(text, good("help", name), f"help {name}")


@tap.test("every command refuses an unknown option with exit code 2 and one line")
def _():
    for name in COMMANDS:
        if name == "run":
            continue
        done = stormlog(name, "--no-such-option-at-all")
        tap.equal(done.returncode, 2, name)
        tap.equal(done.stdout, "", "standard output")
        tap.equal(len(done.stderr.splitlines()), 1, "lines of standard error")
        tap.true(done.stderr.startswith("stormlog: unknown option '--no-such-option-at-all"), done.stderr)


@tap.test("manual pages have no formatting mistakes")
def _():
    if not shutil.which("groff"):
        tap.skip("groff is not installed")
    for name in ["", "gpumemprof", "tfmemprof", *COMMANDS]:
        page = good("__man", *([name] if name else []))
        done = tap.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=page)
        tap.equal(done.stderr, "", f"warnings in the page of '{name}'")


@tap.test("docs/cli matches what the program prints")
def _(folder):
    good("__doc", "--dir", folder)
    done = tap.run(["diff", "-r", str(ROOT / "docs" / "cli"), str(folder)])
    tap.equal(done.stdout, "", "docs/cli; renew it with 'build/stormlog __doc --dir docs/cli'")


def complete(words):
    """What bash offers for the last of these words."""
    script = (f'source <("{STORMLOG}" completion bash)\nCOMP_WORDS=("$@")\nCOMP_CWORD=$(($# - 1))\n"_$1"\n'
              'printf "%s\\n" "${COMPREPLY[@]}"')
    done = tap.run(["bash", "-c", script, "bash", *words], check=True)
    return done.stdout.split()


@tap.test("bash completes commands, options and choices")
def _():
    tap.equal(complete(["stormlog", "inf"]), ["info"], "commands")
    tap.equal(complete(["stormlog", "info", "--fo"]), ["--format"], "options")
    tap.equal(complete(["stormlog", "info", "--format", "j"]), ["json"], "choices")
    tap.equal(complete(["stormlog", "completion", "z"]), ["zsh"], "operands")
    tap.equal(complete(["gpumemprof", "track", "--oom-f"]), ["--oom-flight-recorder"], "options of gpumemprof")
    tap.equal(complete(["tfmemprof", "fs"]), [], "commands of stormlog")


@tap.test("completion scripts are valid")
def _():
    for shell in ("bash", "zsh", "fish"):
        script = good("completion", shell)
        for name in [*COMMANDS, "gpumemprof", "tfmemprof", "oom-flight-recorder"]:
            tap.contains(script, name)
        if shutil.which(shell):
            done = tap.run([shell, "-n"], input=script)
            tap.equal((done.returncode, done.stderr), (0, ""), shell)


@tap.test("gpumemprof and tfmemprof have their own commands")
def _(folder):
    for name in ("gpumemprof", "tfmemprof"):
        link = os.path.join(folder, name)
        os.symlink(STORMLOG, link)
        version = tap.run([link, "--version"], check=True).stdout
        tap.equal(version, good("--version").replace("stormlog", name), "--version")
        tap.contains(tap.run([link, "--help"], check=True).stdout, f"usage: {name}")
        tap.equal(tap.run([link, "info"]).returncode, 0, "info")
        tap.equal(tap.run([link, "fsck", "--help"]).returncode, 2, "commands of stormlog are not theirs")


@tap.test("the table of commands in README.md names only commands that exist")
def _():
    rows = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("| `stormlog ")]
    named = {part.split("`")[0].split()[0] for row in rows for part in row.split("`stormlog ")[1:]}
    tap.equal(sorted(named - set(COMMANDS)), [], "commands that do not exist")
    tap.equal(sorted(set(COMMANDS) - named - {"help", "completion"}), [], "commands that are not named")


tap.main()
