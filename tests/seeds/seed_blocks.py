# SPDX-License-Identifier: MIT
"""Where the code is in the source texts: line numbers, and what a block needs around it. No word of the texts is here.

Web pages lost the indentation of their code on the way into a text file, and the paragraph after a block may be glued to its last
line. `indent` has one digit per line, the depth of each; `cut` is the number of characters that belong to the last line. Nothing
else of a block is changed.

`before` defines what the text takes for granted (a model, a loader), `after` says what must be true then, `error` is the exception
that the text itself lets through. `refused` is what the program of somebody else says that does not take the command of the text;
`after` then shows how to get what it promises. Blocks of one chain run in one process and share their names, as on the page.
"""

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Block:
    source: str
    first: int
    last: int
    kind: str = "python"        # or "shell"
    needs: str = "cpu"          # "cuda", "mps" (run on the device that is here instead), "network"
    indent: str = ""
    cut: Optional[int] = None
    before: str = ""
    after: str = ""
    error: str = ""
    refused: str = ""
    chain: str = ""
    note: str = ""

    def __str__(self):
        return f"{self.source}:{self.first}-{self.last}"


TRAINING = """
import torch
from training_job import Classifier, Job, make_data, make_loader, pick_device
from retention import DeviceTensorRetention
place, job = pick_device(), Job(64, 64, 8)
model = Classifier(64).to(place)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
criterion = torch.nn.CrossEntropyLoss()
train_loader = make_loader(place, job, make_data(1024, seed=1))
retention, global_step = DeviceTensorRetention(), 4
"""
EXPORTED = """
from stormlog import load_telemetry_events
events = load_telemetry_events("artifacts/events.json")
assert len(events) == len(load_telemetry_events("artifacts/events.csv")) >= 2, len(events)
"""
OBSERVED = """
import torch
kept = holder()
kept.observe(hidden=torch.ones(4, 8), logits=torch.ones(4, 2), loss=torch.ones(()), step=0)
"""
FUNCTIONS = """
import torch
made = []
def my_function():
    made.append(torch.ones(1 << 20, device="cuda"))
    scratch = torch.ones(1 << 22, device="cuda")
def buggy_function():
    raise ValueError("as in the text")
def create_tensors():
    made.extend(torch.ones(1000, device="cuda") for _ in range(7))
def train_epoch(model, loader):
    for batch in loader:
        model(batch).sum().backward()
dataloader = [torch.randn(32, 1000, device="cuda") for _ in range(3)]
"""
# `trace` of torch 2.11 prints its lines and takes no -o; the page is trace_plot's, and ours.
NO_PAGE = "unrecognized arguments: -o"
PAGE = "python -m torch.cuda._memory_viz trace_plot {0} -o {1} && test -s {1} && stormlog report {0} -o ours.html && test -s ours.html"
READ = """
import stormlog
report = stormlog.analyze("{0}")
card = next(device for device in report["devices"] if device["device"] == 0)
"""
MATCHES_TORCH = READ + """
assert card["live_bytes"] == live and card["allocs"] > 0, (card["live_bytes"], live)
"""

BLOCKS = [
    # 000: a contributor's walk
    Block("000", 37, 40, "shell"),
    Block("000", 42, 43, "shell", note="after the scripts between: 41 is an ellipsis"),
    Block("000", 52, 53, needs="mps", chain="none", note="Apple only; MPSDeviceCollector reads the same two"),
    Block("000", 66, 69, before="class holder:\n    def __init__(self): self.hidden_cache, self.logit_cache = [], []\n",
          after="holder.observe = observe\n" + OBSERVED + "assert len(kept.hidden_cache) == len(kept.logit_cache) == 1"),
    Block("000", 89, 100, needs="mps", chain="000"),
    Block("000", 104, 105, chain="000", before="tracker.stop_tracking()", after=EXPORTED),
    Block("000", 120, 126, before="import torch",
          after="holder = lambda: (lambda it: (setattr(it, 'summaries', []), it)[1])(ScalarSummaryRetention())\n" + OBSERVED +
                "assert kept.summaries[0]['hidden_mean'] == 1.0"),
    Block("000", 153, 153, "shell", "network", note="another project's repository; examples/tutorial is ours"),
    Block("000", 154, 155, "shell", "network", note="conda"),
    Block("000", 156, 156, "shell"),
    # 001: the walkthrough
    Block("001", 6, 7, "shell", "network", note="another project's repository; examples/tutorial is ours"),
    Block("001", 8, 9, "shell", "network", cut=36, note="conda"),
    Block("001", 10, 13, "shell", "network", cut=44, note="conda and PyPI; tests/py/test_packaging.py installs ours"),
    Block("001", 14, 14, "shell", cut=32),
    Block("001", 17, 28, indent="012332122332", cut=1, before="import torch",
          after="from training_job import pick_device\nplace = pick_device()\nfound = current_backend_memory(place)\n"
                "if place.type == 'cuda':\n    block = torch.ones(1 << 20, device=place)\n"
                "    assert current_backend_memory(place)['allocated_bytes'] - found['allocated_bytes'] == 4 << 20\n"
                "else:\n    assert found is None  # the text has no branch for the CPU"),
    Block("001", 30, 30, "shell", cut=46),
    Block("001", 33, 33, "shell", cut=36),
    Block("001", 37, 47, indent="01221212223", cut=48, before="import torch",
          after="holder = DeviceTensorRetention\n" + OBSERVED + "assert len(kept.hidden_cache) == len(kept.logit_cache) == 1"),
    Block("001", 49, 49, "shell", cut=37),
    Block("001", 53, 65, needs="mps", indent="0011111100000", cut=24, chain="001", after="assert tracker.is_tracking"),
    Block("001", 66, 75, indent="0123333301", cut=23, chain="001", before=TRAINING,
          after="assert not tracker.is_tracking and len(retention.hidden_cache) == 8"),
    Block("001", 76, 77, cut=59, chain="001", after=EXPORTED),
    Block("001", 79, 79, "shell", cut=37),
    Block("001", 81, 81, "shell", cut=75, after="test -s analysis.txt"),
    Block("001", 83, 83, "shell", cut=56, after="test -s artifacts/diag/manifest.json"),
    Block("001", 84, 85, "shell", cut=38),
    Block("001", 87, 87, "shell", cut=38),
    Block("001", 93, 108, indent="0122121222333332", cut=2,
          before="import torch\nfrom collections import deque",
          after="holder = ScalarSummaryRetention\n" + OBSERVED + "assert kept.summaries[0]['logit_max'] == 1.0"),
    Block("001", 110, 111, "shell", cut=34),
    Block("001", 114, 114, "shell", "terminal", cut=8, note="the full-screen program, left with q"),
    Block("001", 121, 121, "shell", cut=15),
    # 002: helpers of a trainer; `kempnerforge.metrics` is stormlog.metrics here
    Block("002", 7, 17, indent="01100000000",
          after="assert set(stats) == {'allocated_gb', 'peak_gb', 'reserved_gb', 'total_gb'}\n"
                "assert utilization == stats['peak_gb'] / stats['total_gb'] or utilization > 0"),
    Block("002", 26, 35, indent="0011100112",
          before="import torch, stormlog, os\nfrom training_job import pick_device\nplace = pick_device()\n"
                 "if place.type == 'cpu':\n    stormlog.record(dir='kempner')\n"
                 "max_steps, log_interval = 201, 50\ntrain_step = lambda _: torch.ones(1000, device=place)",
          after="assert os.listdir('memory_snapshots') == ["
                "f'snapshot_step_100_device_{\"cpu\" if place.type == \"cpu\" else 0}.pickle'], os.listdir('memory_snapshots')"),
    Block("002", 57, 63, needs="cuda", indent="0000001",
          before="import os, pickle, torch\nfrom types import SimpleNamespace\nself = SimpleNamespace(device=0)\nstep, device = 7, 0\n"
                 "os.makedirs('memory_snapshots', exist_ok=True)\nblock = torch.ones(1 << 20, device='cuda')\n",
          after="live = torch.cuda.memory_allocated()" + READ.format("memory_snapshots/snapshot_step_7_device_0.pickle") +
                "assert card['live_bytes'] == live, (card, live)"),
    Block("002", 82, 86, "shell", note="examples/training has the script; uv is a stand-in that runs what follows `uv run`",
          after="ls memory_snapshots/snapshot_step_100_device_*.pickle"),
    # 003: the profiler's documentation
    Block("003", 26, 44, needs="cuda", chain="003", after="assert result.peak_memory_usage() == torch.cuda.max_memory_allocated()"),
    Block("003", 49, 52, needs="cuda", chain="003", after="assert profiler.results[-1].function_name == 'data_loading'"),
    Block("003", 57, 66, needs="cuda", chain="003", before=FUNCTIONS, after="assert len(profiler.snapshots) >= 1"),
    Block("003", 71, 76, needs="cuda", chain="003"),
    Block("003", 82, 100, needs="cuda", chain="003", before="result = None  # a tensor, which the text replaces",
          # 4 MiB may get a cached block that is larger by less than 1 MiB: torch counts blocks, and so do we.
          after="kept = torch.cuda.memory_allocated() - result.memory_before.allocated_memory\n"
                "found = (result.memory_allocated, result.memory_freed, result.memory_diff(), result.tensors_created, "
                "result.tensors_deleted, result.peak_memory_usage())\n"
                "assert found == (kept, 0, kept, 1, 0, torch.cuda.max_memory_allocated()), (found, kept)\n"
                "assert 4 << 20 <= kept < 5 << 20, kept"),
    Block("003", 105, 114, needs="cuda", chain="003",
          after="assert snapshot.allocated_memory == torch.cuda.memory_allocated()\n"
                "assert snapshot.reserved_memory == torch.cuda.memory_reserved() and snapshot.cpu_memory > 0\n"
                "assert snapshot.active_memory == torch.cuda.memory_stats()['active_bytes.all.current']"),
    Block("003", 120, 133, needs="cuda", chain="003"),
    Block("003", 138, 142, needs="cuda", chain="003", after="assert peak == torch.cuda.max_memory_allocated()"),
    Block("003", 148, 156, needs="cuda", chain="003", error="ValueError",
          after="assert last_result.function_name == 'buggy_function'"),
    Block("003", 161, 164, needs="cuda", chain="003", after="assert not profiler.results and not profiler.snapshots"),
    Block("003", 169, 173, needs="cuda", chain="003", after="assert (result.tensors_created, result.tensors_deleted) == (7, 0)"),
    Block("003", 179, 183, needs="cuda", chain="003", after="assert str(profiler.device) == 'cuda:0'"),
    # 004: snapshot recipes; torch's own history, with our recorder in the same process
    Block("004", 3, 9, needs="cuda", indent="0" * 7, chain="004a", before="import torch\nblock = torch.ones(1 << 20, device='cuda')",
          after="assert snapshot['segments'] and 'device_traces' in snapshot\ntorch.cuda.memory._record_memory_history(enabled=None)"),
    Block("004", 11, 25, needs="cuda", indent="000000111110010", chain="004b",
          after="live = torch.cuda.memory_allocated()" + MATCHES_TORCH.format("memory_snapshot.pkl")),
    Block("004", 27, 28, "shell", "cuda", refused=NO_PAGE, after=PAGE.format("memory_snapshot.pkl", "snapshot.html"),
          note="`open` is a stand-in that checks the file"),
    Block("004", 31, 46, needs="cuda", indent="0011000011111111", chain="004c", before="import torch, pickle",
          after="pickle.dump(torch.cuda.memory._snapshot(), open('leak.pkl', 'wb'))\n"
                "torch.cuda.memory._record_memory_history(enabled=None)" + READ.format("leak.pkl") +
                "assert report['verdict'] == 'leak', report['headline']\n"
                "assert 'seed-004.py:' in report['headline'], report['headline']\n"
                "assert report['findings'][0]['site']['line'] in range(38, 47), report['findings'][0]['site']"),
    Block("004", 54, 74, needs="cuda", indent="001200000111000011100", chain="004d",
          after="import stormlog\ngrew = stormlog.diff('snap_before.pkl', 'snap_after.pkl')\n"
                "assert abs(grew['diffs'][0]['delta_bytes']) < 1 << 20, grew['diffs'][0]['delta_bytes']"),
    Block("004", 75, 76, "shell", "cuda", refused=NO_PAGE,
          after=PAGE.format("snap_before.pkl", "before.html") + " && " + PAGE.format("snap_after.pkl", "after.html") +
                " && stormlog diff snap_before.pkl snap_after.pkl"),
    Block("004", 80, 93, needs="cuda", indent="00112201121101", chain="004e", error="OutOfMemoryError",
          before="import torch, pickle\ntorch.cuda.init()\ntorch.cuda.set_per_process_memory_fraction("
                 "100 * 2 ** 20 / torch.cuda.get_device_properties(0).total_memory)",
          after=READ.format("oom_snapshot.pkl") + "assert report['verdict'] == 'oom', report['headline']",
          note="with 100 MiB of the card, or it would not fail"),
    Block("004", 97, 110, needs="cuda", indent="00000010010010", chain="004f",
          before="import os, torch\nos.environ.update(RANK='0', WORLD_SIZE='1', MASTER_ADDR='127.0.0.1', MASTER_PORT='29511')",
          after="live = torch.cuda.memory_allocated()" + MATCHES_TORCH.format("snapshot_rank0.pkl") + "dist.destroy_process_group()\n"
                "import shutil\nfor other in (1, 2, 3):\n    shutil.copy('snapshot_rank0.pkl', f'snapshot_rank{other}.pkl')",
          note="one rank: NCCL wants a card per rank"),
    Block("004", 111, 114, "shell", "cuda", refused=NO_PAGE, after=PAGE.format("snapshot_rank3.pkl", "snapshot_rank3.html"),
          note="ranks 1 to 3 are copies of rank 0"),
    Block("004", 117, 134, indent="001000011110001111",
          before="import os\nif not os.path.exists('memory_snapshot.pkl'):\n    import stormlog, torch\n"
                 "    with stormlog.record(dir='inspect') as recording:\n        kept = [torch.ones(1 << 18) for _ in range(4)]\n"
                 "        stormlog.snapshot('memory_snapshot.pkl')\n",
          after="assert blocks and loc != 'unknown', loc", note="without CUDA on a snapshot of ours"),
    Block("004", 141, 155, needs="cuda", indent="000111112122322", chain="004g",
          before="import torch, pickle\nmodel = torch.nn.Linear(4096, 4096).cuda()\noptimizer = torch.optim.Adam(model.parameters())",
          after="live = torch.cuda.memory_allocated()" + READ.format("snapshot_step15.pkl") +
                "assert card['live_bytes'] == live and report['verdict'] == 'healthy', (card['live_bytes'], live, report['headline'])"),
]
