#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Installs every package where it is meant to be installed, and uses it there. Needs root (chroot), the network (Debian's and
Ubuntu's archives, PyPI) and about 3 GB in build/packages; `make check-packages` makes wheel and debs first.

    make check-packages [T='wheel deb']        T: parts of test names

Prints TAP, then: N passed, N failed, N skipped. Roots are kept in build/packages and used again.
"""

import json
import os
import re
import shutil
import sys
import tarfile
import zipfile
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "lib"))
import tap  # noqa: E402

BUILD = ROOT / "build"
WORK = BUILD / "packages"
DIST = ROOT / "dist"
SNAPSHOT = ROOT / "tests" / "data" / "h200" / "s1_loss_history.pickle.gz"
SYSROOT = BUILD / "wheel" / "sysroot"
MULTI = "usr/lib/x86_64-linux-gnu"
LEAK = """
import torch
model, kept = torch.nn.Linear(64, 64), []
for step in range(60):
    out = model(torch.ones(32, 64))
    out.sum().backward()
    kept.append(out.detach())
"""


def run(*command, **options):
    done = tap.run([str(word) for word in command], **{"timeout": 1800, **options})
    tap.equal(done.returncode, 0, f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def only(pattern):
    found = sorted(DIST.glob(pattern))
    if not found:
        tap.skip(f"dist/{pattern} is not there; make wheel, make deb")
    return found[-1]


def need_root():
    if os.geteuid() != 0:
        tap.skip("needs root, for chroot")


# --- Roots -----------------------------------------------------------------------------------------------------------

def debian_root(suite, packages=()):
    """Unpacked once by debootstrap. The marker file is written last: an interrupted set-up starts again from the beginning."""
    need_root()
    root, marker = WORK / suite, " ".join(packages)
    if not (root / ".is-complete").exists() or (root / ".is-complete").read_text() != marker:
        if not shutil.which("debootstrap"):
            run("apt-get", "install", "-y", "-qq", "debootstrap")
        shutil.rmtree(root, ignore_errors=True)
        run("debootstrap", "--variant=minbase", suite, root)
        if packages:
            run("chroot", root, "apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages)
        (root / ".is-complete").write_text(marker)
    return root


@contextmanager
def inside(root, copies=()):
    """A copy of the root in which anything may happen; yields a function that runs a command there."""
    copy = WORK / f"{root.name}-used"
    shutil.rmtree(copy, ignore_errors=True)
    run("cp", "-a", "--reflink=auto", root, copy)
    for source, target in copies:
        (copy / target).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, copy / target)

    def command(*words, check=True, shell=None):
        # /proc in a mount namespace of its own, which disappears with the command.
        text = 'mount -t proc proc "$1/proc"; exec chroot "$@"'
        words = ["unshare", "--mount", "sh", "-c", text, "sh", str(copy), *map(str, words)]
        return run(*words) if check else tap.run(words)

    try:
        yield command
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def old_root():
    """glibc 2.27 and nothing else: no shell, no Python."""
    need_root()
    only("*.whl")
    root = WORK / "glibc-2.27"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    run("dpkg-deb", "-x", *(BUILD / "wheel" / "downloads").glob("libc6_*.deb"), root)
    for name in ("proc", "tmp", "dev"):
        (root / name).mkdir(exist_ok=True)
    return root


def unpacked_wheel(folder):
    with zipfile.ZipFile(only("*.whl")) as wheel:
        wheel.extractall(folder)
    for name in ("stormlog/_bin/stormlog",):
        os.chmod(Path(folder) / name, 0o755)
    return Path(folder) / "stormlog" / "_bin"


# --- Wheel -----------------------------------------------------------------------------------------------------------

def elf_files(folder):
    return [path for path in Path(folder).rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]


@tap.test("wheel: needs no symbol newer than glibc 2.28 and no library but glibc's, and is tagged so")
def _(folder):
    unpacked_wheel(folder)
    newest, libraries = (0, 0), set()
    files = elf_files(folder)
    tap.equal(len(files), 4, "program, recorder and two modules")
    for path in files:
        listing = run("objdump", "-T", "-p", path)
        libraries |= set(re.findall(r"NEEDED +(\S+)", listing))
        newest = max(newest, *[tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_(\d+\.\d+)", listing)])
    tap.true(newest <= (2, 28), f"the newest symbol is of glibc {newest}")
    tap.equal(sorted(libraries - {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"}), [],
              "libraries that another machine may lack")
    tap.contains(only("*.whl").name, f"manylinux_{newest[0]}_{newest[1]}_", "tag")


@tap.test("wheel: auditwheel, which is not ours, agrees with the tag")
def _(folder):
    run(sys.executable, "-m", "venv", f"{folder}/venv")
    if tap.run([f"{folder}/venv/bin/pip", "install", "--quiet", "auditwheel"], timeout=600).returncode:
        tap.skip("auditwheel could not be installed from PyPI")
    report = run(f"{folder}/venv/bin/auditwheel", "show", only("*.whl"))
    ours = int(re.search(r"manylinux_2_(\d+)_x86_64", only("*.whl").name)[1])
    # It knows the tags of some versions only, and names the next one.
    theirs = int(re.search(r'constrains the platform tag to "manylinux_2_(\d+)_', " ".join(report.split()))[1])
    tap.true(ours <= theirs <= 28, f"tag of glibc 2.{ours}, auditwheel says 2.{theirs}\n{report}")


@tap.test("wheel: in a root with glibc 2.27 the program reads, draws and records")
def _(folder):
    binaries = unpacked_wheel(f"{folder}/wheel")
    target = Path(folder) / "target"
    target.mkdir()
    cc = ["gcc", f"--sysroot={SYSROOT}", f"-B{SYSROOT}/{MULTI}", f"-L{SYSROOT}/{MULTI}"]
    hook = ROOT / "tests" / "hook"
    run(*cc, "-shared", "-fPIC", hook / "fakes/libc10.c", "-o", target / "libc10.so")
    run(*cc, "-shared", "-fPIC", "-Wl,--no-as-needed", hook / "fakes/libc10_cuda.c", f"-L{target}", "-lc10", "-Wl,-rpath,/target", "-o",
        target / "libc10_cuda.so")
    run(*cc, "-D_GNU_SOURCE", hook / "target.c", "-Wl,-rpath,/target", "-o", target / "target", "-ldl", "-lpthread")
    copies = [(binaries, "bin"), (target, "target"), (SNAPSHOT, "tmp/snap.pickle.gz")]
    with inside(old_root(), copies) as there:
        tap.contains(there("/bin/stormlog", "--version"), "stormlog ")
        facts = there("/bin/stormlog", "info")
        for name in ("zlib", "zstd", "liblzma", "ncursesw", "cairo"):
            tap.true(re.search(rf"^{name} +yes", facts, re.MULTILINE), f"{name} is inside:\n{facts}")
        tap.contains(there("/bin/stormlog", "analyze", "/tmp/snap.pickle.gz"), "s1_loss_history.py:8")
        there("/bin/stormlog", "report", "/tmp/snap.pickle.gz", "-o", "/tmp/page.html")
        there("/bin/stormlog", "plot", "/tmp/snap.pickle.gz", "-o", "/tmp/plot.png")
        there("/bin/stormlog", "run", "-o", "/tmp/run", "--", "/target/target", "torch")
        listing = there("/bin/stormlog", "runs", "list", "--dir", "/tmp", "--format", "json", check=False).stdout
        recording = next((WORK / "glibc-2.27-used" / "tmp" / "run").glob("*.slog"))
        events = there("/bin/stormlog", "cat", "--format", "json", f"/tmp/run/{recording.name}").splitlines()
        kinds = [json.loads(line)["kind"] for line in events]
        tap.equal((kinds.count("alloc"), kinds.count("free"), kinds.count("oom")), (101, 60, 1), f"recorded events; {listing[:200]}")


@tap.test("wheel: on Debian 11 (glibc 2.31, Python 3.9) pip installs it, and it finds the leak of a real torch 1.7")
def _(folder):
    Path(folder, "leak.py").write_text(LEAK)
    root = debian_root("bullseye", ("python3-pip", "python3-torch", "python3-numpy"))
    wheel = only("*.whl")
    with inside(root, [(wheel, f"tmp/{wheel.name}"), (Path(folder, "leak.py"), "tmp/leak.py")]) as there:
        there("pip3", "install", "--no-index", "--no-deps", f"/tmp/{wheel.name}")
        for name in ("stormlog", "gpumemprof", "tfmemprof"):
            tap.contains(there(name, "--version"), name)
        # This torch aborts at the end of any program that called backward(); it must do the same under the recorder.
        plain = there("python3", "/tmp/leak.py", check=False).returncode
        recorded = there("stormlog", "run", "--cpu", "-o", "/tmp/run", "--", "python3", "/tmp/leak.py", check=False)
        tap.equal(recorded.returncode, plain if plain >= 0 else 128 - plain, recorded.stderr)
        tap.contains(there("stormlog", "analyze", "/tmp/run"), "leak.py:5", "the line that leaks")
        text = there("python3", "-c", "import stormlog, gpumemprof; print(stormlog.analyze('/tmp/run')['verdict'])")
        tap.contains(text.lower(), "leak", "verdict in Python")


def check_pip(folder, *what, options=()):
    if not Path(folder, "venv").exists():
        run(sys.executable, "-m", "venv", *options, f"{folder}/venv")
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "CC", "LDFLAGS")}
    run(f"{folder}/venv/bin/pip", "install", "--quiet", "--no-deps", *what, env=env, cwd=folder)
    tap.contains(run(f"{folder}/venv/bin/stormlog", "--version", cwd=folder), "stormlog ")
    tap.contains(run(f"{folder}/venv/bin/python", "-c", "import gpumemprof; print(gpumemprof.__file__)", cwd=folder), folder)


@tap.test("sdist: pip install from it, with build isolation, in an empty environment")
def _(folder):
    check_pip(folder, only("*.tar.gz"))


@tap.test("sources: pip install in an environment that sees Debian's packages, and again after a change")
def _(folder):
    with tarfile.open(only("*.tar.gz")) as archive:
        archive.extractall(folder)
    source = next(Path(folder).glob("stormlog-*"))
    for _ in range(2):
        check_pip(folder, "--force-reinstall", source, options=["--system-site-packages"])
        (source / "meson.build").write_text((source / "meson.build").read_text() + "# changed\n")


# --- Debian packages -------------------------------------------------------------------------------------------------

LIST_FILES = "find / -xdev \\( -path /proc -o -path /tmp -o -path /var/cache -o -path /var/lib/dpkg -o -path /var/log " \
             "-o -path /var/lib/apt -o -name __pycache__ -o -path /etc/ld.so.cache \\) -prune -o -print | sort"


@tap.test("deb: installs in a fresh Debian 12, works, and is removed without a trace")
def _(folder):
    Path(folder, "user.c").write_text('#include <stdio.h>\n#include <stormlog/stormlog.h>\n'
                                      'int main(void) { return puts(sl_version()) < 0; }\n')
    version = only("stormlog_*.deb").name.split("_")[1]
    root = debian_root("bookworm", ("python3", "man-db", "gcc", "libc6-dev", "pkg-config"))
    debs = [(path, f"tmp/{path.name}") for path in sorted(DIST.glob(f"*_{version}_*.deb"))]
    tap.equal(len(debs), 4, "packages")
    with inside(root, [*debs, (Path(folder, "user.c"), "tmp/user.c"), (SNAPSHOT, "tmp/snap.pickle.gz")]) as there:
        there("apt-get", "update", "-qq")
        # What our packages need stays installed when they go, so it is there before the comparison begins.
        simulated = there("sh", "-c", "apt-get install --simulate -qq --no-install-recommends /tmp/*.deb")
        needed = re.findall(r"^Inst (\S+)", simulated, re.MULTILINE)
        ours = [name for name in needed if "stormlog" in name]
        tap.equal(len(ours), 4, f"ours among {needed}")
        there("apt-get", "install", "-y", "-qq", "--no-install-recommends", *(set(needed) - set(ours)))
        before = there("sh", "-c", LIST_FILES)
        there("sh", "-c", "apt-get install -y -qq --no-install-recommends /tmp/*.deb")
        for name in ("stormlog", "gpumemprof", "tfmemprof"):
            tap.contains(there(name, "--version"), version)
            tap.contains(there("sh", "-c", f"test -e /usr/share/man/man1/{name}.1.gz && echo page"), "page", f"man {name}")
        tap.contains(there("stormlog", "analyze", "/tmp/snap.pickle.gz"), "s1_loss_history.py:8")
        there("stormlog", "run", "--quiet", "-o", "/tmp/run", "--", "/bin/true")
        tap.contains(there("python3", "-c", "import stormlog; print(stormlog.__version__)"), version)
        there("sh", "-c", "cc /tmp/user.c -o /tmp/user $(pkg-config --cflags --libs stormlog)")
        tap.contains(there("/tmp/user"), version)
        there("apt-get", "purge", "-y", "-qq", *ours)
        tap.equal(there("sh", "-c", LIST_FILES), before, "files after the removal")


@tap.test("deb: lintian has no error")
def _():
    if not shutil.which("lintian") and os.geteuid() == 0:
        tap.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "lintian"], timeout=600)
    if not shutil.which("lintian"):
        tap.skip("lintian is not installed")
    only("stormlog_*.deb")
    # Not for Debian's archive, so the changelog has no bug number and no mail address of it. The recorder's library is loaded by its path.
    accepted = "initial-upload-closes-no-bugs,bogus-mail-host,bogus-mail-host-in-debian-changelog,lacks-ldconfig-trigger"
    done = tap.run(["lintian", "--allow-root", "--fail-on", "error", "--suppress-tags", accepted, *map(str, sorted(DIST.glob("*.deb")))],
                   timeout=600)
    tap.equal(done.returncode, 0, done.stdout)


# --- Conda, container ------------------------------------------------------------------------------------------------

@tap.test("conda: the recipe's script installs into a prefix, and the recipe's own test commands succeed there")
def _(folder):
    import yaml

    text = (ROOT / "packaging" / "conda" / "meta.yaml").read_text()
    version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]
    pattern = re.search(r'regex_pattern="([^"]+)"', text)[1]
    tap.equal(re.search(pattern, (ROOT / "meson.build").read_text())[1], version, "the version that the recipe finds")
    recipe = yaml.safe_load(re.sub(r"\{%.*%\}", "", text).replace("{{ version }}", version).replace("{{ compiler('c') }}", "gcc"))
    prefix, source = Path(folder, "prefix"), Path(folder, "source")
    source.mkdir()
    run("sh", "-c", f"git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | tar -xf - -C {source}", cwd=ROOT)
    site = prefix / "lib" / "python3.11" / "site-packages"
    env = {**os.environ, "PREFIX": str(prefix), "SP_DIR": str(site), "RECIPE_DIR": str(ROOT / "packaging" / "conda")}
    run("bash", "-c", recipe["build"]["script"], cwd=source, env=env)
    env |= {"PATH": f"{prefix}/bin:{folder}/bin:{os.environ['PATH']}", "PYTHONPATH": str(site)}
    Path(folder, "bin").mkdir()
    Path(folder, "bin", "python").symlink_to("/usr/bin/python3")
    for command in recipe["test"]["commands"]:
        run("bash", "-c", command, cwd=folder, env=env)


@tap.test("container: the recipe builds on an image made by debootstrap, and the image analyses a snapshot")
def _(folder):
    need_root()
    if not shutil.which("buildah"):
        tap.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "buildah"], timeout=600)
    if not shutil.which("buildah"):
        tap.skip("buildah is not installed")
    root = debian_root("bookworm", ("python3", "man-db", "gcc", "libc6-dev", "pkg-config"))
    store = ["--root", f"{folder}/store", "--runroot", f"{folder}/run", "--storage-driver", "vfs"]
    base = run("buildah", *store, "from", "scratch").strip()
    run("buildah", *store, "add", "--quiet", base, root, "/")
    # The recipe names an image of a registry; here one with that name is already in the store, so nothing is pulled.
    run("buildah", *store, "commit", "--quiet", base, "docker.io/library/debian:12-slim")
    run("buildah", *store, "bud", "--isolation", "chroot", "--pull-never", "--network", "host", "-t", "stormlog", "-f",
        ROOT / "packaging/container/Containerfile", "--ignorefile", ROOT / ".containerignore", ROOT)
    made = run("buildah", *store, "from", "--pull-never", "localhost/stormlog").strip()
    run("buildah", *store, "copy", "--quiet", made, SNAPSHOT, "/work/snap.pickle.gz")
    text = run("buildah", *store, "run", "--isolation", "chroot", made, "--", "stormlog", "analyze", "snap.pickle.gz")
    tap.contains(text, "s1_loss_history.py:8")


# --- SBOM ------------------------------------------------------------------------------------------------------------

@tap.test("sbom: valid CycloneDX, by the project's own validator")
def _(folder):
    run(sys.executable, "-m", "venv", f"{folder}/venv")
    if tap.run([f"{folder}/venv/bin/pip", "install", "--quiet", "cyclonedx-python-lib[json-validation]"], timeout=600).returncode:
        tap.skip("cyclonedx-python-lib could not be installed from PyPI")
    check = ("import sys\nfrom cyclonedx.schema import SchemaVersion\nfrom cyclonedx.validation.json import JsonStrictValidator\n"
             "print(JsonStrictValidator(SchemaVersion.V1_5).validate_str(sys.stdin.read()) or 'valid')")
    for extra in ([], ["--wheel"]):
        document = run(sys.executable, ROOT / "packaging" / "sbom.py", BUILD, *extra)
        tap.equal(run(f"{folder}/venv/bin/python", "-c", check, input=document).strip(), "valid", f"sbom {extra}")


WORK.mkdir(parents=True, exist_ok=True)
tap.main()
