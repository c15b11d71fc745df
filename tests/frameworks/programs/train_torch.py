# SPDX-License-Identifier: MIT
"""A plain loop; through stormlog.record() with torch's profiler and its trace."""

import json
import os

import torch
from common_frameworks import DEVICE, IS_USED, STEPS, Net, dataset, facts_of, keep_one, report


def train(on_step):
    net = Net().to(DEVICE)
    optimizer = torch.optim.Adam(net.parameters())
    loader = torch.utils.data.DataLoader(dataset(), batch_size=8)
    for x, y in loader:
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.mse_loss(net(x.to(DEVICE)), y.to(DEVICE))
        loss.backward()
        optimizer.step()
        keep_one(loss)
        on_step()
    return net, optimizer


def main():
    if not IS_USED:
        kept = train(lambda: None)
        report(steps=STEPS)
        return kept
    import stormlog
    from stormlog.integrations import torch_profiler
    from stormlog.integrations._evidence import Evidence

    with stormlog.record(modules=True) as recording:
        with torch.profiler.profile(on_trace_ready=torch_profiler.trace_handler("traces")) as profiler:
            kept = train(stormlog.step)
        path = recording.path
    del profiler
    with open(os.path.join("traces", os.listdir("traces")[0]), encoding="utf-8") as file:
        trace = json.load(file)
    ours = [event for event in trace["traceEvents"] if event.get("pid") == "stormlog"]
    theirs = [event for event in trace["traceEvents"] if event.get("ph") == "X" and event.get("pid") != "stormlog" and "ts" in event]
    steps = [event for event in ours if event["ph"] == "X"]
    report(**facts_of(Evidence(path)), trace_verdict=trace["stormlog"]["verdict"], trace_steps=len(steps),
           trace_headline=[event["name"] for event in ours if event["ph"] == "i"][0],
           trace_overlaps=min(e["ts"] for e in theirs) < steps[0]["ts"] < steps[-1]["ts"] < max(e["ts"] + e["dur"] for e in theirs))
    return kept


if __name__ == "__main__":
    kept_to_the_end = main()
