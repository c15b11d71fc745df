# SPDX-License-Identifier: MIT
"""Out-of-memory storms, and libraries that come and go while events come."""

from hostile_run import Case

OOM_STORM = """
import threading
from hostile_events import KIND, begin, churn, say
begin()
def work(depth):
    if depth:
        return work(depth - 1)
    for i in range(100):
        if KIND == "fake":
            from hostile_events import kit
            kit.kit_oom(1)
        else:
            import torch
            try:
                torch.empty(1 << 50, dtype=torch.float64, device=KIND)
            except RuntimeError:
                pass
        churn(1)
threads = [threading.Thread(target=work, args=(i * 50,)) for i in range(6)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
say("storm over")
"""

CASES = [
    Case("oom storm", "600 failed requests on 6 threads are survived", OOM_STORM, allocs=600),
    Case("oom storm torch", "the same with a real torch", OOM_STORM, kind="torch", allocs=600, has_cuda=True),
    Case("libraries come and go", "a torch stand-in is loaded and unloaded 200 times while threads allocate",
         ["hostile_cycles", "plugins"], soak=10),
    Case("stand-in unloaded", "the library with the patched slots itself is unloaded and loaded again", ["hostile_cycles", "whole"],
         soak=10),
]
