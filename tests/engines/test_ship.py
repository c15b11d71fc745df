# SPDX-License-Identifier: MIT
"""`stormlog ship` and s3:// paths: a folder and a small S3 server as targets, interrupted and damaged transfers, hostile indexes and
answers. The same with real servers: check_s3.py."""

import hashlib
import json
import os
import resource
import shutil
import signal
import socket
import sys
import urllib.parse
from pathlib import Path

import tap

MAKE_RANK = os.path.abspath(sys.argv.pop(2))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))

import queries  # noqa: E402
import receiver  # noqa: E402
from cli import good, stormlog  # noqa: E402

ACCESS, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
HOST_INDEX = "index-" + "".join(c if c.isalnum() or c in "._-+@=," else "_" for c in socket.gethostname()) + ".json"


class Bucket:
    """What a request needs to be answered: objects by key, the sums of bodies checked, two names per page of a list."""

    def __init__(self):
        self.objects, self.override = {}, None

    def answer(self, method, path, headers, body):
        url = urllib.parse.urlsplit(path)
        key = urllib.parse.unquote(url.path).removeprefix("/team/")
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        if self.override and (answer := self.override(method, key, query)):
            return answer
        if f"Credential={ACCESS}/" not in (headers["Authorization"] or ""):
            return 403, {}, b"<Error><Code>AccessDenied</Code><Message>who are you</Message></Error>"
        if headers["x-amz-content-sha256"] != hashlib.sha256(body).hexdigest():
            return 400, {}, b"<Error><Message>the sum is wrong</Message></Error>"
        if method == "PUT":
            self.objects[key] = body
            return 200, {"ETag": '"x"'}, b""
        if "list-type" in query:
            return self.list(query)
        return (200, {}, self.objects[key]) if key in self.objects else (404, {}, b"")

    def list(self, query):
        names = sorted(key for key in self.objects if key.startswith(query["prefix"]))
        at = int(query.get("continuation-token", 0))
        more = at + 2 < len(names)
        keys = "".join(f"<Contents><Key>{name.replace('&', '&amp;')}</Key></Contents>" for name in names[at:at + 2])
        token = f"<NextContinuationToken>{at + 2}</NextContinuationToken>" if more else ""
        return 200, {}, f"<ListBucketResult><IsTruncated>{str(more).lower()}</IsTruncated>{token}{keys}</ListBucketResult>".encode()


def needs_curl():
    if not json.loads(good("info", "--format", "json"))["libraries"]["libcurl"]:
        tap.skip("this build has no libcurl")


def settings(folder, server=None):
    url = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.port}"} if server else {}
    return {"XDG_CACHE_HOME": f"{folder}/cache", "AWS_ACCESS_KEY_ID": ACCESS, "AWS_SECRET_ACCESS_KEY": SECRET, **url}


def table(path, **options):
    return [{**json.loads(line), "run": None} for line in good("export", path, "--to", "jsonl", **options).splitlines()]


def made(folder, world=2):
    return queries.make_run(MAKE_RANK, Path(folder) / "job", queries.LEAKING, world=world)


def entry(name, data=b"x", **more):
    return {"name": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), **more}


def index(*files):
    return json.dumps({"schema": "stormlog.index/1", "host": "h", "files": list(files)}).encode()


@tap.test("a shared folder: compact files that read the same, an index with their sums, nothing twice, the source untouched")
def _(folder):
    run, shared = made(folder), Path(folder) / "shared"
    shared.mkdir()
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    out = good("ship", run, shared, env=settings(folder))
    tap.contains(out, f"read it with: stormlog ranks {shared}/job")
    tap.equal({path.name: path.read_bytes() for path in run.iterdir()}, before, "the source")
    tap.equal(table(shared / "job"), table(run), "what is read there")
    listed = json.loads((shared / "job" / HOST_INDEX).read_text())
    tap.equal((listed["schema"], [file["rank"] for file in listed["files"]]), ("stormlog.index/1", [0, 1]), "index")
    for file in listed["files"]:
        data = (shared / "job" / file["name"]).read_bytes()
        tap.equal((len(data), hashlib.sha256(data).hexdigest()), (file["bytes"], file["sha256"]), file["name"])
        tap.true(len(data) < len(before[file["name"]]), "it is smaller")
    tap.equal(good("ship", run, shared, env=settings(folder)).count("already there"), 2, "the second time")
    tap.equal(sorted(path.name for path in (shared / "job").iterdir()), sorted([*before, HOST_INDEX]), "files there")


@tap.test("a copy that was interrupted goes on, one with other contents is not believed")
def _(folder):
    run, shared = made(folder, world=1), Path(folder) / "shared"
    shared.mkdir()
    good("ship", run, shared, env=settings(folder))
    there = shared / "job" / "python3-100.slog"
    data = there.read_bytes()
    part = there.with_name(f"{there.name}.part-{hashlib.sha256(data).hexdigest()[:12]}")
    for begun, code in ((data[:500], 0), (b"?" * 500, 4), (data + b"more", 0)):
        shutil.rmtree(shared / "job")
        part.parent.mkdir()
        part.write_bytes(begun)
        done = stormlog("ship", run, shared, env=settings(folder))
        tap.equal(done.returncode, code, f"exit code with {begun[:8]!r}: {done.stderr}")
        tap.equal("500 B were there" in done.stdout, begun == data[:500], f"resumed: {done.stdout}")
        tap.equal((part.exists(), there.exists()), (False, code == 0), "files")
        tap.true(code or there.read_bytes() == data, "contents")


@tap.test("S3: shipped and read back by every command, page by page; the keys are in no output and in no request")
def _(folder):
    needs_curl()
    run, bucket = made(folder, world=4), Bucket()
    with receiver.serve(bucket.answer) as server:
        env = settings(folder, server)
        done = stormlog("ship", run, "s3://team/a/runs/", env={**env, "AWS_SESSION_TOKEN": "tok3n"})
        tap.equal(done.returncode, 0, done.stderr)
        tap.equal(sorted(bucket.objects), [f"a/runs/job/{name}" for name in sorted([HOST_INDEX] + [p.name for p in run.iterdir()])],
                  "keys")
        tap.equal(table("s3://team/a/runs/job", env=env), table(run), "read back")
        tap.contains(good("ranks", "s3://team/a/runs/job", env=env), f"rank {queries.LEAKING}: memory began to grow")
        tap.contains(good("analyze", "s3://team/a/runs/job", env=env), "leak")
        again = good("ship", run, "s3://team/a/runs", env=env)
        tap.equal(again.count("already there"), 4, "the second time")
        sent = str([(path, str(headers)) for _, path, headers, _ in server.requests]) + done.stdout + done.stderr
        tap.true(SECRET not in sent, "the secret key")
        tap.equal({headers["x-amz-security-token"] for _, _, headers, _ in server.requests[:4]}, {"tok3n"}, "session token")


@tap.test("S3: no keys, wrong keys, no bucket, no server: one line, exit 4 or 3, no key in it")
def _(folder):
    needs_curl()
    run, bucket = made(folder, world=1), Bucket()
    with receiver.serve(bucket.answer) as server:
        env = settings(folder, server)
        file = Path(folder) / "credentials"
        file.write_text(f"[other]\naws_access_key_id = nobody\naws_secret_access_key = nothing\n"
                        f"[default]\naws_access_key_id = {ACCESS}\naws_secret_access_key={SECRET}\n")
        bare = {**env, "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "HOME": folder}
        cases = [(bare, 4, "no keys"), ({**env, "AWS_ACCESS_KEY_ID": "somebody"}, 4, "status 403: who are you"),
                 ({**bare, "AWS_SHARED_CREDENTIALS_FILE": str(file), "AWS_PROFILE": "other"}, 4, "status 403"),
                 ({**bare, "AWS_SHARED_CREDENTIALS_FILE": str(file)}, 0, ""),
                 ({**env, "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, 4, "127.0.0.1")]
        for case, code, words in cases:
            done = stormlog("ship", run, "s3://team", "--tries", "1", env=case)
            tap.equal(done.returncode, code, f"{words}: {done.stderr}")
            tap.contains(done.stderr, words)
            tap.true(len(done.stderr.splitlines()) == bool(code) and SECRET not in done.stderr, f"one line: {done.stderr}")
        bucket.override = lambda *_: (404, {}, b"<Error><Message>NoSuchBucket</Message></Error>")
        tap.equal(stormlog("analyze", "s3://team/job", env=env).returncode, 3, "no such bucket")
        for where in ("s3://", "s3://T/x", "s3://team", "s3://team/..", "s3://team/a b"):
            tap.equal(stormlog("analyze", where, env=env).returncode, 2, where)


@tap.test("hostile indexes: paths, other names, wrong sums and sizes, cut short, another schema; nothing is written outside")
def _(folder):
    needs_curl()
    run, bucket = made(folder, world=1), Bucket()
    outside = Path(folder) / "outside"
    outside.mkdir()
    with receiver.serve(bucket.answer) as server:
        env = settings(folder, server)
        good("ship", run, "s3://team", env=env)
        right, name = bucket.objects[f"job/{HOST_INDEX}"], "python3-100.slog"
        data = bucket.objects[f"job/{name}"]
        bad = [("../evil.slog", 3), ("/etc/evil.slog", 3), ("..\\evil.slog", 3), (".hidden.slog", 3), ("a/b.slog", 3),
               ("evil.py", 3), ("x\n.slog", 3), ("\u202e.slog", 3), ("a" * 300 + ".slog", 3), ("", 3)]
        for hostile, code in bad:
            bucket.objects[f"job/{HOST_INDEX}"] = index(entry(name, data), entry(hostile))
            done = stormlog("analyze", "s3://team/job", env=env)
            tap.equal(done.returncode, code, f"{hostile!r}: {done.stderr}")
            tap.contains(done.stderr, HOST_INDEX)
            tap.equal(len(done.stderr.splitlines()), 1, "lines")
        cuts = [right[:len(right) // 2], b"", b"[]", b'{"schema":"stormlog.index/2","files":[]}', b'{"schema":"stormlog.index/1"}',
                b"\xff\xfe", index({"name": name}), index({**entry(name), "bytes": -1}), index({**entry(name), "sha256": "zz"})]
        for cut in cuts:
            bucket.objects[f"job/{HOST_INDEX}"] = cut
            done = stormlog("analyze", "s3://team/job", env=env)
            tap.equal((done.returncode, len(done.stderr.splitlines())), (3, 1), f"{cut[:60]!r}: {done.stderr}")
        for wrong in (entry(name, b"other"), {**entry(name, data), "bytes": len(data) - 1}, entry("not-there.slog")):
            bucket.objects[f"job/{HOST_INDEX}"] = index(wrong)
            tap.equal(stormlog("analyze", "s3://team/job", env=env).returncode, 3, f"{wrong}")
        bucket.objects[f"job/{HOST_INDEX}"] = index(entry(name, data), entry("not-there.slog"))
        done = stormlog("analyze", "s3://team/job", env=env)
        tap.equal(done.returncode, 0, f"the other one is read: {done.stderr}")
        tap.contains(done.stderr, "not-there.slog")
        bucket.objects["job/index-other.json"] = index(entry(name, b"other"))
        tap.contains(stormlog("analyze", "s3://team/job", env=env).stderr, "twice")
    names = [path.relative_to(folder) for path in Path(folder).rglob("*") if "evil" in path.name or path.name.endswith(".part")]
    tap.equal(names, [], "files that should not be there")


@tap.test("servers that answer garbage or too much are refused; one that is busy is waited for")
def _(folder):
    needs_curl()
    run, bucket = made(folder, world=1), Bucket()
    with receiver.serve(bucket.answer) as server:
        env = settings(folder, server)
        good("ship", run, "s3://team", env=env)
        for garbage in (b"hello", b"<html>404</html>", b"<ListBucketResult><Contents><Key>job/../x", b"\x00" * 1000):
            bucket.override = lambda method, key, query, body=garbage: (200, {}, body) if "list-type" in query else None
            done = stormlog("analyze", "s3://team/job", env=env)
            tap.equal((done.returncode, len(done.stderr.splitlines())), (3, 1), f"{garbage[:20]!r}: {done.stderr}")
        bucket.override = lambda method, key, query: (200, {}, b"x" * 100000) if key.endswith(".slog") else None
        done = stormlog("analyze", "s3://team/job", env=env)
        tap.equal(done.returncode, 3, f"too much: {done.stderr}")
        answers = iter([(503, {}, b""), None])
        bucket.override = lambda *_: next(answers, None)
        tap.equal(stormlog("analyze", "s3://team/job", env=env).returncode, 0, "503 first")


@tap.test("a damaged recording is named and the others arrive; an index that was cut short is made anew")
def _(folder):
    run, shared = made(folder, world=3), Path(folder) / "shared"
    shared.mkdir()
    bad = run / "python3-101.slog"
    bad.write_bytes(bad.read_bytes()[:5000])
    done = stormlog("ship", run, shared, env=settings(folder))
    tap.equal(done.returncode, 3, "exit code")
    tap.contains(done.stderr, "python3-101.slog")
    listed = json.loads((shared / "job" / HOST_INDEX).read_text())
    tap.equal([file["rank"] for file in listed["files"]], [0, 2], "index")
    tap.equal(stormlog("ship", run, Path(folder) / "nowhere", env=settings(folder)).returncode, 3, "no such folder")
    tap.equal(stormlog("ship", run, bad, env=settings(folder)).returncode, 2, "a file as target")
    (shared / "job" / HOST_INDEX).write_text(json.dumps(listed)[:100])
    done = stormlog("ship", run / "python3-100.slog", shared, env=settings(folder))
    tap.equal(done.returncode, 0, done.stderr)
    tap.contains(done.stderr, "the index there is not used")


@tap.test("a path that is not there, a name that cannot be shipped, another recording of the same name: named, and the rest arrives")
def _(folder):
    run, shared = made(folder, world=3), Path(folder) / "shared"
    shared.mkdir()
    done = stormlog("ship", Path(folder) / "nowhere", shared, env=settings(folder))
    tap.equal((done.returncode, done.stderr), (3, f"stormlog: cannot read '{folder}/nowhere': No such file or directory\n"), "nowhere")
    shutil.move(run / "python3-101.slog", run / "a name.slog")
    done = stormlog("ship", run, shared, env=settings(folder))
    tap.equal((done.returncode, len(done.stderr.splitlines())), (3, 1), done.stderr)
    tap.contains(done.stderr, "a name.slog' cannot be shipped under its name")
    tap.equal(sorted(path.name for path in (shared / "job").iterdir()), [HOST_INDEX, "python3-100.slog", "python3-102.slog"], "files there")
    answer = json.loads(good("ranks", shared / "job", "--format", "json"))
    tap.equal((answer["ranks_read"], [note for note in answer["merge_notes"] if "left out" in note]), (2, []), "the index is not an input")

    first = (shared / "job" / "python3-100.slog").read_bytes()
    other = queries.make_run(MAKE_RANK, Path(folder) / "again" / "job", queries.LEAKING, world=1)
    done = stormlog("ship", other, shared, env=settings(folder))
    tap.equal(done.returncode, 3, done.stderr)
    tap.contains(done.stderr, "cannot ship 'python3-100.slog': the run 'job' there has another recording of that name (process ")
    tap.equal((shared / "job" / "python3-100.slog").read_bytes(), first, "what was there")
    good("ship", other, shared, "--name", "job-again", env=settings(folder))


def limited(limit):
    """A disk that is full, as far as this process can tell: writing beyond the limit fails."""
    def limit_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return {"preexec_fn": limit_files, "restore_signals": False}


@tap.test("a disk that is full: exit 4, one line, no file and no index that promises one; with room again it goes on")
def _(folder):
    needs_curl()
    run, shared, bucket = made(folder, world=1), Path(folder) / "shared", Bucket()
    shared.mkdir()
    done = stormlog("ship", run, shared, env=settings(folder), **limited(600))
    tap.equal((done.returncode, len(done.stderr.splitlines())), (4, 1), done.stderr)
    tap.equal([path.name for path in shared.rglob("*.slog")] + [path.name for path in shared.rglob("index*")], [], "files")
    good("ship", run, shared, env=settings(folder))
    with receiver.serve(bucket.answer) as server:
        env = settings(folder, server)
        good("ship", run, "s3://team", env=env)
        done = stormlog("analyze", "s3://team/job", env=env, **limited(600))
        tap.equal((done.returncode, len(done.stderr.splitlines())), (4, 1), done.stderr)
        good("analyze", "s3://team/job", env=env)


tap.main()
