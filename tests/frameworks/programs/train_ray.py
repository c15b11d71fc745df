# SPDX-License-Identifier: MIT
"""Ray Train: two workers, processes that Ray starts; each one is recorded. Through stormlog.record() in the training function."""

import json
import os
import sys
from pathlib import Path

import ray
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer


def train_one(config):
    sys.path.insert(0, config["programs"])
    import torch
    from common_frameworks import Net, dataset, facts_of, keep_one

    rank = ray.train.get_context().get_world_rank()
    recording = None
    if config["is_used"]:
        import stormlog
        from stormlog.integrations._evidence import Evidence

        recording = stormlog.record(dir=config["out"], modules=True)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    for x, y in torch.utils.data.DataLoader(dataset(), batch_size=8):
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        keep_one(loss)
        if recording is not None:
            stormlog.step()
    facts = {}
    if recording is not None:
        path = recording.path
        recording.stop()
        facts = facts_of(Evidence(path))
    Path(config["out"], f"facts{rank}.json").write_text(json.dumps(facts))


def main():
    here, out = os.path.dirname(os.path.abspath(__file__)), os.path.abspath("ray-out")
    os.makedirs(out, exist_ok=True)
    os.environ["RAY_TRAIN_V2_ENABLED"] = "1"
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR", _temp_dir=None)
    TorchTrainer(train_one, train_loop_config={"programs": here, "out": out, "is_used": sys.argv[1:] == ["use"]},
                 scaling_config=ScalingConfig(num_workers=2, use_gpu=False), run_config=RunConfig(storage_path=out)).fit()
    ray.shutdown()
    facts = [json.loads(Path(out, f"facts{rank}.json").read_text()) for rank in range(2)]
    print("FACTS " + json.dumps({**facts[0], "ranks": len(facts), "second": facts[1]}), flush=True)


if __name__ == "__main__":
    main()
