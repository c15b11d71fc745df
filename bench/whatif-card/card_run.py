#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures on a card what the replay is compared with: card_run.py FOLDER [CALLS.json.gz [RECORDER.so]].

Every program of card_programs.py runs once with torch's own history and once under each setting, and those whose size can be
scaled at eight sizes; with CALLS (by snapshot: requests as bytes, frees as -1 - number of the request) these go through torch's
own allocator, too. Processes run side by side: what one reserves does not depend on the others. Stops after CARD_SECONDS; the
results so far are in the folder: results.jsonl, raw.jsonl and *.pickle.gz.
"""

import gzip
import json
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
MIB = 1 << 20
SECONDS = float(os.environ.get("CARD_SECONDS", "380"))
WORKERS = int(os.environ.get("CARD_WORKERS", "14"))

ORACLE = {"gpt": 16, "checkpointed": 16, "encoder": 384, "convnet": 48, "lstm": 64, "unet": 128, "lengths": 12,
          "prefetch": 256, "graph": 20000, "serve": 8, "experts": 24}
# Settings, and the limit of the process as a share of the default run's reserved peak (0 = none).
SETTINGS = [("", 0), ("expandable_segments:True", 0), ("max_split_size_mb:64", 0), ("max_split_size_mb:128", 0),
            ("max_split_size_mb:256", 0), ("roundup_power2_divisions:4", 0), ("garbage_collection_threshold:0.6", 1.3),
            ("garbage_collection_threshold:0.8", 1.1), ("max_split_size_mb:128,max_non_split_rounding_mb:64", 0),
            ("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", 0), ("large_segment_size_mb:64", 0)]
# Sizes of which a snapshot is kept, and the others.
BATCH = {"gpt": ((8, 16, 32), (4, 12, 24, 48, 64)), "checkpointed": ((8, 16, 32), (4, 12, 24, 48, 64)),
         "convnet": ((16, 32, 64), (8, 24, 48, 96, 128)), "lstm": ((16, 32, 64), (8, 24, 48, 96, 128)),
         "encoder": ((128, 256, 512), (64, 192, 320, 384, 768)), "unet": ((64, 96, 160), (32, 128, 192, 224, 256)),
         "big_gpt": ((8, 16, 32), (4, 12, 24, 40, 48)), "big_checkpointed": ((8, 16, 32), (4, 12, 24, 48, 64)),
         "resnet50": ((16, 32, 64), (8, 24, 48, 96, 128)), "big_lstm": ((16, 32, 64), (8, 24, 48, 96, 128)),
         "big_encoder": ((256, 512, 1024), (384, 640, 768, 1280, 1536)), "big_unet": ((128, 192, 256), (96, 160, 224, 320, 384))}
# GiB of the card that the largest of them may take: as many run side by side as it has room for.
ROOM = {"big_gpt": 50, "big_checkpointed": 35, "resnet50": 20, "big_lstm": 20, "big_encoder": 50, "big_unet": 40}
CARD_GIB = 130
RAW = ["", "max_split_size_mb:20", "max_split_size_mb:128,max_non_split_rounding_mb:64",
       "max_split_size_mb:32,max_non_split_rounding_mb:128", "max_split_size_mb:64,max_non_split_rounding_mb:32",
       "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", "roundup_power2_divisions:[1:8,16:4,64:2,>:1]",
       "large_segment_size_mb:64", "large_segment_size_mb:40,expandable_segments:True",
       "large_segment_size_mb:32,max_split_size_mb:64"]


class Card:
    """The queue of runs and what came out of them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.end = folder, time.monotonic() + SECONDS
        self.jobs: queue.PriorityQueue = queue.PriorityQueue()
        self.lock, self.number, self.open, self.room = threading.Lock(), 0, 0, CARD_GIB
        self.results = open(folder / "results.jsonl", "w", encoding="utf-8")

    def add(self, rank: int, **job) -> None:
        with self.lock:
            self.number += 1
            self.open += 1
            self.jobs.put((rank, self.number, job))

    def note(self, line: dict) -> None:
        with self.lock:
            print(json.dumps(line), file=self.results, flush=True)

    def run(self, command: list[str], conf: str, **env: str) -> str | None:
        """None, or what went wrong."""
        left = self.end - time.monotonic()
        if left < 5:
            return "no time left"
        env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="2", **env)
        if conf:
            env["PYTORCH_CUDA_ALLOC_CONF"] = conf
        try:
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=min(left, 150))
        except subprocess.TimeoutExpired:
            return "took too long"
        return done.stderr[-600:] if done.returncode else None

    def run_program(self, name: str, size: int, conf: str = "", limit: int = 0, kind: str = "", snapshot: str = "",
                    stacks: str = "", recorder: str = "", share: float = 0) -> None:
        result = self.folder / f"{threading.get_ident()}.json"
        result.unlink(missing_ok=True)
        command = [sys.executable, str(HERE / "card_programs.py"), name, str(size), str(result)]
        if snapshot:
            command += [str(self.folder / snapshot)] + [stacks] * bool(stacks)
        env = {"LIMIT_BYTES": str(limit)} if limit else {}
        if recorder:
            (self.folder / f"rec-{name}-{size}").mkdir()
            env.update(LD_PRELOAD=recorder, STORMLOG_DIR=str(self.folder / f"rec-{name}-{size}"))
        since = time.monotonic()
        wrong = self.run(command, conf, **env)
        line = {"kind": kind, "program": name, "size": size, "conf": conf, "share": share, "seconds": round(time.monotonic() - since, 1)}
        if wrong is None:
            line.update(json.loads(result.read_text()))
        self.note({**line, "wrong": wrong} if wrong else line)
        if snapshot and wrong is None:
            subprocess.run(["gzip", "-9n", str(self.folder / snapshot)], check=True)
        if kind == "recorded" and wrong is None:
            self.add_settings(name, size, line["reserved_peak"])

    def add_settings(self, name: str, size: int, peak: int) -> None:
        for conf, share in SETTINGS:
            limit = int(peak * share) // (2 * MIB) * (2 * MIB)
            self.add(2, task="program", name=name, size=size, conf=conf, limit=limit, kind="setting", share=share)

    def run_raw(self, conf: str, calls: str) -> None:
        result = self.folder / f"raw-{threading.get_ident()}.jsonl"
        result.unlink(missing_ok=True)
        wrong = self.run([sys.executable, __file__, "--raw", calls, str(result)], conf)
        with self.lock, open(self.folder / "raw.jsonl", "a", encoding="utf-8") as out:
            if result.exists():
                out.write(result.read_text())
            if wrong:
                print(json.dumps({"conf": conf, "wrong": wrong}), file=out)

    def take_room(self, job: dict) -> int:
        """Waits until the card has room for the run."""
        name = job.get("name")
        need = 3 + ROOM[name] * job["size"] // max(map(max, BATCH[name])) if name in ROOM else 3
        while True:
            with self.lock:
                if self.room >= need:
                    self.room -= need
                    return need
            time.sleep(0.1)

    def work(self) -> None:
        while True:
            try:
                _, _, job = self.jobs.get(timeout=0.2)
            except queue.Empty:
                if self.open == 0:
                    return
                continue
            need = self.take_room(job)
            try:
                task = job.pop("task")
                (self.run_raw if task == "raw" else self.run_program)(**job)
            except Exception as wrong:  # one failed run must not end the others
                self.note({"wrong": repr(wrong), **job})
            with self.lock:
                self.open -= 1
                self.room += need


def replay_raw(calls: str, result: str) -> None:
    """Every list of calls through torch's own allocator, in this process, one after the other."""
    import torch

    torch.cuda.init()
    alloc, delete = torch._C._cuda_cudaCachingAllocator_raw_alloc, torch._C._cuda_cudaCachingAllocator_raw_delete
    stream = torch.cuda.current_stream().cuda_stream
    conf = os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "")
    for name, steps in json.loads(gzip.open(calls, "rt").read()).items():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_stats().get("num_device_alloc", 0)
        at: dict[int, int] = {}
        done, failed, number = 0, None, 0
        for step in steps:
            if step >= 0:
                try:
                    at[number] = alloc(step, stream)
                except torch.OutOfMemoryError:
                    failed = done
                    break
                number += 1
            else:
                delete(at.pop(-1 - step))
            done += 1
        stats = torch.cuda.memory_stats()
        with open(result, "a", encoding="utf-8") as out:
            print(json.dumps({"conf": conf, "file": name, "limit_bytes": None, "reserved_peak": stats["reserved_bytes.all.peak"],
                              "reserved_end": stats["reserved_bytes.all.current"], "allocated_peak": stats["allocated_bytes.all.peak"],
                              "first_oom": failed, "device_allocs": stats["num_device_alloc"] - before, "calls": done}), file=out)
        for address in at.values():
            delete(address)


def main() -> None:
    if sys.argv[1] == "--raw":
        replay_raw(*sys.argv[2:])
        return
    card = Card(Path(sys.argv[1]))
    only = os.environ.get("CARD_ONLY", "").split(",")
    for name, size in ORACLE.items() if only == [""] else ():
        card.add(0, task="program", name=name, size=size, kind="recorded", snapshot=f"{name}.pickle")
    for name, (kept, others) in BATCH.items():
        if only != [""] and name not in only:
            continue
        for size in kept:
            card.add(1, task="program", name=name, size=size, kind="batch", snapshot=f"{name}-{size}.pickle", stacks="python")
        for size in others:
            card.add(1, task="program", name=name, size=size, kind="batch")
    if "native" in only:
        for size in (8, 16):
            card.add(1, task="program", name="gpt", size=size, kind="batch", snapshot=f"gpt-{size}-native.pickle", stacks="all")
    for conf in RAW if len(sys.argv) > 2 else []:
        card.add(3, task="raw", conf=conf, calls=sys.argv[2])
    for size in (8, 16) if len(sys.argv) > 3 else ():
        card.add(4, task="program", name="gpt", size=size, kind="slog", recorder=sys.argv[3])
    threads = [threading.Thread(target=card.work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
