# SPDX-License-Identifier: MIT
"""What `make install` puts where, and that it works from there. Argument: the build folder."""

import os
import sys
from pathlib import Path

import tap

ROOT = Path(__file__).resolve().parents[2]
build = Path(sys.argv[1])
del sys.argv[1:]


def install(folder):
    done = tap.run(["meson", "install", "-C", build, "--no-rebuild", "--destdir", folder])
    if done.returncode:
        raise AssertionError(done.stdout + done.stderr)
    # The prefix of this build folder is whatever the last `make install` said; it is found by what must be in it.
    found = list(Path(folder).rglob("include/stormlog"))
    tap.equal(len(found), 1, "folders include/stormlog")
    return found[0].parents[1]


def need(product):
    if not (build / product).exists():
        tap.skip(f"{product} is not built yet")


@tap.test("every public header is installed")
def _(folder):
    prefix = install(folder)
    tap.equal(sorted(path.name for path in (prefix / "include/stormlog").iterdir()),
              sorted(path.name for path in (ROOT / "include/stormlog").glob("*.h")), "headers")


@tap.test("the libraries are in lib/, where the program looks for them")
def _(folder):
    need("libstormlog.so")
    prefix = install(folder)
    for name in ("libstormlog.so", "libstormlog.a", "libstormlog_record.so"):
        if (build / name).exists():
            tap.true((prefix / "lib" / name).exists(), f"lib/{name} is installed")


@tap.test("the program runs as stormlog, gpumemprof and tfmemprof")
def _(folder):
    need("stormlog")
    prefix = install(folder)
    tap.equal(tap.run([prefix / "bin/stormlog", "info"]).returncode, 0, "exit code of 'stormlog info'")
    for name in ("gpumemprof", "tfmemprof"):
        tap.equal(os.readlink(prefix / "bin" / name), "stormlog", f"link bin/{name}")


@tap.test("manual pages and completions of all three programs are where the shells look")
def _(folder):
    need("stormlog")
    share = install(folder) / "share"
    for name in ("stormlog", "gpumemprof", "tfmemprof", "stormlog-run"):
        tap.true((share / "man/man1" / f"{name}.1").is_file(), f"man1/{name}.1")
    for name in ("stormlog", "gpumemprof", "tfmemprof"):
        for place in (f"bash-completion/completions/{name}", f"fish/vendor_completions.d/{name}.fish"):
            tap.contains((share / place).read_text(), f"completion for {name}", place)
        first = (share / "zsh/site-functions/_stormlog").read_text().splitlines()[0]
        tap.true(name in first.split(), f"zsh completes {name}: {first}")


@tap.test("another program compiles and links against the installed library")
def _(folder):
    need("libstormlog.so")
    prefix = install(folder)
    source = "#include <stormlog/version.h>\nint main(void) { return SL_VERSION_STRING[0] == 0; }\n"
    program = Path(folder) / "user"
    done = tap.run(["cc", "-x", "c", "-", f"-I{prefix / 'include'}", f"-L{prefix / 'lib'}", "-lstormlog", "-o", program],
                   input=source)
    tap.equal(done.stderr, "", "compiler's messages")
    tap.equal(tap.run([program], env={"LD_LIBRARY_PATH": str(prefix / "lib")}).returncode, 0, "exit code")


@tap.test("pkg-config says how, with and without --static")
def _(folder):
    need("libstormlog.so")
    prefix = install(folder)
    # The file names the prefix that was configured; here it is below a folder of the test.
    env = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig"), "LD_LIBRARY_PATH": str(prefix / "lib")}
    source = '#include <stdio.h>\n#include <stormlog/stormlog.h>\nint main(void) { return puts(sl_version()) < 0; }\n'
    for extra in ([], ["--static"]):
        flags = tap.run(["pkg-config", f"--define-variable=prefix={prefix}", "--cflags", "--libs", *extra, "stormlog"],
                        env=env, check=True).stdout
        # Both libraries are in that folder, and the linker takes the shared one unless the file is named.
        flags = flags.replace("-lstormlog", "-l:libstormlog.a" if extra else "-lstormlog")
        program = Path(folder) / "user"
        done = tap.run(["cc", "-x", "c", "-", "-o", program, *flags.split()], input=source)
        tap.equal(done.stderr, "", f"compiler's messages {extra}")
        version = tap.run(["pkg-config", "--modversion", "stormlog"], env=env).stdout
        tap.equal(tap.run([program], env=env).stdout, version, "version")


tap.main()
