# SPDX-License-Identifier: MIT
"""What a training loop keeps of each step: nothing, too much, and enough."""

from collections import deque


class NoRetention:
    def observe(self, *, hidden, logits, loss, step):
        pass


class DeviceTensorRetention:
    """The bug. Both tensors are detached from the graph, and both still occupy the device until the run ends."""

    def __init__(self):
        self.hidden_cache = []
        self.logit_cache = []

    def observe(self, *, hidden, logits, loss, step):
        self.hidden_cache.append(hidden.detach().clone())
        if step % 4 == 0:
            self.logit_cache.append(logits.detach().clone())


class ScalarSummaryRetention:
    """The fix: numbers on the host instead of tensors on the device, and a bounded count of them."""

    def __init__(self, max_items=24):
        self.summaries = deque(maxlen=max_items)

    def observe(self, *, hidden, logits, loss, step):
        kept = hidden.detach().float()
        self.summaries.append({"step": step, "hidden_mean": kept.mean().item(), "hidden_std": kept.std().item(),
                               "logit_max": logits.detach().float().max().item(), "loss": loss.detach().item()})


RETENTIONS = {"clean": NoRetention, "leak": DeviceTensorRetention, "fixed": ScalarSummaryRetention}
