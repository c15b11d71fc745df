"""A server that reserves its KV cache layer by layer while another process holds nearly all of the card. Cause: other process."""
import subprocess, sys, torch, common
from torch import nn
from common import DEV
GIB = 1 << 30
HOLDER = ("import sys, torch; free = torch.cuda.mem_get_info()[0]; t = torch.empty(free - int(sys.argv[1]), dtype=torch.uint8, device='cuda'); "
          "print(t.nelement(), flush=True); sys.stdin.read()")

common.start()
if common.DRY:
    common.skip("needs two processes on a card")
lm = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)).to(DEV)
holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(7 * GIB)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
held = int(holder.stdout.readline() or 0)
cache, msg = [], ""
try:
    with torch.no_grad():
        for layer in range(40):
            for _ in range(3):
                y = lm(torch.randn(64, 512, device=DEV))
            cache.append(torch.empty(GIB // 2, dtype=torch.uint8, device=DEV))  # OOM
            common.step()
    print("no OOM")
except common.OOM as e:
    msg = str(e)
common.save("c25_oom_other_process", __file__, {"verdict": "oom", "kind": "other process", "oom_cause": "other-process", "message": msg,
            "accept_causes": ["other-process"], "request_bytes": GIB // 2, "other_process_bytes": held})
holder.communicate()
