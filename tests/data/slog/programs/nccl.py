"""One rank that trains a little and reduces over NCCL, with a matrix product, beside a process that holds a gibibyte."""
import os
import subprocess
import sys
import time

import torch
import torch.distributed as dist

other = subprocess.Popen([sys.executable, "-c", "import sys, torch; x = torch.empty(1 << 30, dtype=torch.uint8, "
                          "device='cuda'); torch.cuda.synchronize(); print('ready', flush=True); sys.stdin.read()"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "STORMLOG_DISABLE": "1"})
other.stdout.readline()
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29541", RANK="0", LOCAL_RANK="0", WORLD_SIZE="1")
dist.init_process_group("nccl", device_id=torch.device("cuda:0"))
weights = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)
for step in range(10):
    gradient = weights @ weights
    dist.all_reduce(gradient)
torch.cuda.synchronize()
time.sleep(1.0)  # the counters are read ten times a second
os._exit(0)
