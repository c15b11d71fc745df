# SPDX-License-Identifier: MIT
"""The recipes of contrib/ judged by what will read them: Kubernetes' schemas, systemd, shellcheck, Grafana's types, and the build step
of the Containerfile. Run by `make check-engines`. Arguments: the program, and one that is not used here."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import tap

ROOT = Path(__file__).resolve().parents[2]
CONTRIB = ROOT / "contrib"
HOME = Path(os.environ["STORMLOG_ENGINES"])
VERSIONS = ("1.25.0", "1.31.0", "1.37.0")
EXPOSURE_MAX = 3.0
STORMLOG = os.path.abspath(sys.argv[1])
del sys.argv[1:3]


def needs(program, package):
    if not shutil.which(program):
        tap.skip(f"no {program} here (package {package})")


def call(*command, code=0, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600, check=False, **options)
    if code is not None:
        tap.equal(done.returncode, code, f"{command[0]}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
    return done.stdout + done.stderr


# ---- Kubernetes ----

def manifests():
    import yaml

    return {f"{path.name}/{document['kind']}": document for path in sorted(CONTRIB.rglob("*.y*ml"))
            for document in yaml.safe_load_all(path.read_text()) if "apiVersion" in document}


@tap.test(f"Kubernetes: every object is one of the schemas of {VERSIONS[0]} to {VERSIONS[-1]}, without a member they do not have")
def _():
    if importlib.util.find_spec("kubernetes_validate") is None:
        tap.skip("kubernetes-validate is not installed here")
    import kubernetes_validate as schemas

    tap.equal(sorted(manifests()), ["stormlog-agent.yaml/DaemonSet", "train-job.yaml/Job"], "objects")
    for version in VERSIONS:
        for name, document in manifests().items():
            try:
                schemas.validate(document, version, strict=True)
            except schemas.ValidationError as error:
                tap.true(False, f"{name}, {version}: {error.message} at {list(error.path)}")
    wrong = manifests()["stormlog-agent.yaml/DaemonSet"]
    wrong["spec"]["template"]["spec"]["hostPid"] = True
    try:
        schemas.validate(wrong, VERSIONS[-1], strict=True)
    except schemas.ValidationError:
        return
    tap.true(False, "a member that there is not is accepted")


@tap.test("Kubernetes: the agent has no more rights than it needs, and looks where the jobs record")
def _():
    if importlib.util.find_spec("yaml") is None:
        tap.skip("PyYAML is not installed here")
    agent, job = (manifests()[name]["spec"]["template"]["spec"] for name in ("stormlog-agent.yaml/DaemonSet", "train-job.yaml/Job"))
    paths = {volume["name"]: volume["hostPath"]["path"] for volume in agent["volumes"] if "hostPath" in volume}
    tap.equal(paths["recordings"], job["volumes"][0]["hostPath"]["path"], "the folder of the node")
    container, train = agent["containers"][0], job["containers"][0]
    mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
    tap.equal([name for name, mount in mounts.items() if not mount.get("readOnly")], ["state"], "what the agent may write to")
    tap.equal(container["args"][-1], mounts["recordings"]["mountPath"], "the folder it reads")
    image = (CONTRIB / "container" / "Containerfile").read_text()
    tap.contains(image, f"ENV STATE_DIRECTORY={mounts['state']['mountPath']}")
    for part in agent["initContainers"] + agent["containers"] + job["containers"]:
        security = part["securityContext"]
        tap.equal((security["allowPrivilegeEscalation"], security["capabilities"]["drop"]), (False, ["ALL"]), f"rights of {part['name']}")
        tap.equal(security.get("privileged", False), False, f"{part['name']} is privileged")
    tap.equal(container["securityContext"]["capabilities"]["add"], ["DAC_READ_SEARCH", "SYS_PTRACE"], "rights to read")
    tap.equal("limits" in container["resources"] and "requests" in container["resources"], True, "resources")
    runs = next(variable["value"] for variable in train["env"] if variable["name"] == "STORMLOG_RUNS")
    tap.true(runs.startswith(train["volumeMounts"][0]["mountPath"] + "/"), f"STORMLOG_RUNS={runs}")


# ---- systemd, Slurm ----

@tap.test(f"systemd: both units are verified, and the exposure of the one for all users is at most {EXPOSURE_MAX} of 10")
def _(folder):
    needs("systemd-analyze", "systemd")
    for path in sorted((CONTRIB / "systemd").rglob("*.service")):
        # systemd wants the program to be there; everything else is as it is.
        unit = Path(folder) / path.relative_to(CONTRIB / "systemd")
        unit.parent.mkdir(exist_ok=True)
        unit.write_text(path.read_text().replace("ExecStart=/usr/bin/stormlog", "ExecStart=/bin/true"))
        tap.equal(call("systemd-analyze", "verify", "--man=no", unit), "", f"what systemd says about {path.name}")
    unit.write_text(unit.read_text().replace("RestrictRealtime", "RestrictRealTime"))
    tap.contains(call("systemd-analyze", "verify", "--man=no", unit, code=None), "RestrictRealTime")
    said = call("systemd-analyze", "security", "--offline=true", "--no-pager", CONTRIB / "systemd" / "stormlog-agent.service")
    exposure = float(re.search(r"Overall exposure level.*: ([\d.]+)", said)[1])
    tap.true(exposure <= EXPOSURE_MAX, f"exposure {exposure}:\n{said}")
    tap.contains((CONTRIB / "README.md").read_text(), f"exposure {exposure} of 10")


@tap.test("systemd: the calls that the agent makes are those that the units allow")
def _(folder):
    needs("systemd-analyze", "systemd")
    needs("strace", "strace")
    (Path(folder) / "runs").mkdir()
    call("timeout", "5", "strace", "-f", "-qq", "-o", f"{folder}/calls", STORMLOG, "agent", "--state", f"{folder}/state", "--push",
         "http://127.0.0.1:1", "--listen", "127.0.0.1:0", f"{folder}/runs", code=None)
    made = set(re.findall(r"^\d+ +(?:<\.\.\. )?(\w+)[ (]", Path(f"{folder}/calls").read_text(), re.M)) - {"resuming"}
    tap.true({"socket", "connect", "openat", "epoll_wait"} & made and len(made) > 30, f"calls that were made: {sorted(made)}")

    def named(group, seen=frozenset()):
        found = set()
        for line in call("systemd-analyze", "syscall-filter", "--no-pager", group).splitlines()[1:]:
            word = line.strip()
            if word.startswith("@") and word not in seen:
                found |= named(word, seen | {word})
            elif word and not word.startswith("#"):
                found.add(word)
        return found

    # rseq and clone3 are known to newer versions of the group; libc goes on without them.
    refused = made - named("@system-service") - {"rseq", "clone3"}
    privileged = made & (named("@privileged") - named("@chown"))
    tap.equal((sorted(refused), sorted(privileged)), ([], []), "calls that are refused")


@tap.test("Slurm: shellcheck has nothing to say about the scripts")
def _():
    needs("shellcheck", "shellcheck")
    tap.equal(call("shellcheck", "--shell=sh", *sorted((CONTRIB / "slurm").glob("*.sh"))), "", "shellcheck")


# ---- Grafana ----

def type_check(folder, dashboard):
    """What TypeScript says about the dashboard as a value of Grafana's own type."""
    Path(folder, "dashboard.ts").write_text('import type { Dashboard } from "@grafana/schema";\n'
                                            f"export const dashboard: Dashboard = {json.dumps(dashboard, indent=1)};\n")
    return call("node", ROOT / "web/node_modules/typescript/bin/tsc", "--noEmit", "--strict", "--skipLibCheck", "--module", "esnext",
                "--moduleResolution", "bundler", "--types", "", "dashboard.ts", cwd=folder, code=None)


@tap.test("Grafana: the dashboard is of the type that Grafana's own package has for it")
def _(folder):
    package = HOME / "npm" / "node_modules" / "@grafana" / "schema"
    if not package.exists() or not (ROOT / "web/node_modules/typescript").exists():
        tap.skip("@grafana/schema or TypeScript is not installed here")
    os.symlink(package.parents[1], f"{folder}/node_modules")
    dashboard = json.loads((CONTRIB / "grafana" / "stormlog.json").read_text())
    tap.equal(type_check(folder, dashboard), "", "what the compiler says")
    dashboard["panels"][0]["gridPos"] = {"x": "left"}
    tap.contains(type_check(folder, dashboard), "error TS")


# ---- the image ----

@tap.test("container: the build step builds, and every library that the program loads is in a package of the image")
def _(folder):
    for program in ("meson", "ninja", "dpkg"):
        needs(program, program)
    text = re.sub(r"\\\n\s*", "", (CONTRIB / "container" / "Containerfile").read_text())
    build = next(line for line in text.splitlines() if line.startswith("RUN meson"))[4:]
    for inside, outside in (("/build", f"{folder}/build"), ("/src", str(ROOT)), ("/out", f"{folder}/out")):
        build = re.sub(rf"(?<![\w/]){inside}\b", outside, build)
    build = build.replace("ninja -C", "ninja --quiet -C").replace(" && ", " >/dev/null && ")
    call("sh", "-c", build)
    program = f"{folder}/out/usr/bin/stormlog"
    tap.contains(call(program, "agent", "--help"), "--push")
    packages = set(text.split("FROM ")[2].split("rm -rf")[0].split())
    libraries = {line.split("=> ")[1].split()[0] for line in call("ldd", program).splitlines() if "=> /" in line}
    # What is loaded when it is needed (docs/dependencies.md).
    libraries |= {f"/usr/lib/x86_64-linux-gnu/{name}" for name in ("libcurl.so.4", "libmicrohttpd.so.12", "libsnappy.so.1")}
    for library in sorted(libraries):
        found = call("dpkg", "-S", os.path.realpath(library), code=None)
        if "no path found" in found:  # /lib is /usr/lib
            found = call("dpkg", "-S", os.path.realpath(library).replace("/usr/lib", "/lib"), code=None)
        package = found.split(":")[0]
        tap.true(package in packages | {"libc6"}, f"{library} is in {package}, which the image does not have: {sorted(packages)}")


tap.main()
