# SPDX-License-Identifier: MIT
"""Drives the allocator of tracker_c10_cuda.cpp. Arguments: the folder "torch" around its library, the case. Prints facts as
one JSON object."""

import ctypes
import json
import os
import sys

folder, case = sys.argv[1:3]
sys.path.insert(0, os.path.dirname(folder))
lib = ctypes.CDLL(os.path.join(folder, "lib", "libc10_cuda.so"))
for name, kinds in {"fake_malloc": (ctypes.c_size_t, ctypes.c_uint64, ctypes.c_uint64),
                    "fake_free": (ctypes.c_uint64, ctypes.c_size_t, ctypes.c_uint64, ctypes.c_int),
                    "fake_complete": (ctypes.c_uint64, ctypes.c_size_t, ctypes.c_uint64),
                    "fake_release": (ctypes.c_uint64, ctypes.c_size_t)}.items():
    getattr(lib, name).argtypes = kinds
lib.fake_malloc.restype = ctypes.c_uint64
facts = {}

if case == "all":
    blocks = [lib.fake_malloc(size, stream, pool) for size, stream, pool in ((100, 0, 0), (1024, 0x7F00, 0), (513, 0x7F00, 5))]
    lib.fake_free(blocks[0], 100, 0, 0)
    lib.fake_free(blocks[1], 1024, 0x7F00, 1)
    lib.fake_complete(blocks[1], 1024, 0x7F00)
    lib.fake_free(blocks[2], 513, 0x7F00, 1)  # still waits at the end
    from torch.cuda import memory
    memory.empty_cache(lambda: (lib.fake_release(blocks[0], 100), lib.fake_release(blocks[1], 1024)))
    facts["blocks"] = blocks
elif case == "settings":
    facts["thrown"] = lib.fake_set(b"bad")
    facts["first"] = lib.fake_set(b"max_split_size_mb:64")
    lib.fake_malloc(512, 0, 0)
    facts["second"] = lib.fake_set(b"expandable_segments:False")
else:
    for _ in range(40):
        lib.fake_malloc(512, 0, 0)
facts["trackers"] = lib.fake_trackers()
print(json.dumps(facts))
sys.stdout.flush()
os._exit(0)
