# SPDX-License-Identifier: MIT
"""Step 1: what PyTorch alone shows of the leak: two counters, as long as the process lives."""

import os

import torch
from retention import DeviceTensorRetention
from training_job import job_for, pick_device, train

MIB = 1024 ** 2


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def current_backend_memory(device):
    """Live tensors, and what the backend has taken for them. PyTorch counts neither on the CPU: there it is the process."""
    if device.type == "mps":
        return torch.mps.current_allocated_memory(), torch.mps.driver_allocated_memory()
    if device.type == "cuda":
        return torch.cuda.memory_allocated(device), torch.cuda.memory_reserved(device)
    return (resident_bytes(),) * 2


def main():
    device = pick_device()
    retention, seen = DeviceTensorRetention(), []
    shown_every = max(job_for(device).steps // 6, 1)

    def look(step):
        seen.append(current_backend_memory(device))
        if step % shown_every == 0:
            print(f"step {step:3}  allocated {seen[-1][0] / MIB:8.1f} MiB   reserved {seen[-1][1] / MIB:8.1f} MiB")

    train(retention, device, on_step=look)
    cached = sum(tensor.nelement() * tensor.element_size() for tensor in retention.hidden_cache + retention.logit_cache)
    print(f"peak allocated {max(allocated for allocated, _ in seen) / MIB:.1f} MiB; the two caches hold {cached / MIB:.1f} MiB")
    print("It grows, but which line holds it? When this process ends, the numbers are gone with it.")


main()
