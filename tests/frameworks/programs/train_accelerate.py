# SPDX-License-Identifier: MIT
"""accelerate: a loop of one's own, and the tracker."""

import torch
from accelerate import Accelerator
from common_frameworks import DEVICE, IS_USED, STEPS, Net, dataset, facts_of, keep_one, note_counters, report


def train(accelerator):
    net = Net()
    net, optimizer, loader = accelerator.prepare(net, torch.optim.Adam(net.parameters()),
                                                 torch.utils.data.DataLoader(dataset(), batch_size=8))
    for number, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), y)
        accelerator.backward(loss)
        optimizer.step()
        keep_one(loss)
        accelerator.log({"loss": loss.item()}, step=number)
    return net, optimizer


def main():
    tracker = None
    if IS_USED:
        from stormlog.integrations.accelerate import StormlogTracker

        tracker = StormlogTracker(sinks=[note_counters])
    accelerator = Accelerator(cpu=DEVICE == "cpu", log_with=[tracker] if tracker else None)
    accelerator.init_trackers("frameworks", config={"steps": STEPS})
    kept = train(accelerator)
    accelerator.end_training()
    report(**(facts_of(tracker.evidence) if tracker else {"steps": STEPS}))
    return kept


if __name__ == "__main__":
    kept_to_the_end = main()
