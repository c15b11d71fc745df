"""Session server; buffers of odd sizes come and go, half of the sessions end, and one large request finds no hole. Cause: fragmentation."""
import random, torch, common
from common import DEV
MIB, REQUEST = 1 << 20, 320

def reserved():
    return sum(s.nelement() for s in sessions.values()) if common.DRY else torch.cuda.memory_reserved()

def open_session(n):
    sessions[n] = torch.empty(random.randint(1500, 9000) * 1024 + 256 * random.randint(0, 3), dtype=torch.uint8, device=DEV)

common.start()
common.limit(1000)
random.seed(11)
sessions, n, msg = {}, 0, "dry"
while reserved() < 940 * MIB:
    open_session(n)
    n += 1
    common.step()
for _ in range(300):  # steady traffic: one ends, one begins, the largest seen so far never twice in a row
    gone = random.choice(list(sessions))
    size = sessions.pop(gone).nelement()
    sessions[n] = torch.empty(size - 512 * random.randint(0, 40), dtype=torch.uint8, device=DEV)
    n += 1
    common.step()
for i, key in enumerate(sorted(sessions, key=lambda k: sessions[k].data_ptr())):
    if i % 2:
        del sessions[key]
held = sum(s.nelement() for s in sessions.values())
truth = {} if common.DRY else {"allocated_before": torch.cuda.memory_allocated(), "reserved_before": torch.cuda.memory_reserved()}
try:
    batch = torch.empty(REQUEST * MIB, dtype=torch.uint8, device=DEV)  # OOM
    print("no OOM")
except common.OOM as e:
    msg = str(e)
common.save("c21_oom_fragmentation", __file__, dict(truth, verdict="oom", kind="fragmentation", oom_cause="fragmentation", message=msg,
            accept_causes=["fragmentation"], request_bytes=REQUEST * MIB, held_bytes=held))
