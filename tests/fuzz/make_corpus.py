#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rewrites the seeds of corpus/torch and corpus/json. Files found by fuzzing are in the same folders and are kept."""

import pickle
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "read"))
import variants  # noqa: E402

# Opcodes that must be refused, each in the smallest pickle that reaches it.
HOSTILE = {"global": b"\x80\x04cos\nsystem\n.", "stack_global": b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
           "reduce": b"\x80\x04)R.", "deep": b"\x80\x04" + b"]" * 300 + b"a" * 299 + b".", "put": b"\x80\x04Nr\xff\xff\xff\xff.",
           "laughs": b"\x80\x04]\x94" + b"".join(b"]\x94(" + b"h" + bytes((i,)) + b"h" + bytes((i,)) + b"e" for i in range(30)) + b"."}
JSON = {"values": b'{"a":[1,-2.5e3,true,false,null,"\\u00e9\\ud83d\\ude00\\n"],"b":{}}', "deep": b"[" * 70,
        "number": b"[18446744073709551615]", "surrogate": b'["\\ud800"]', "cut": b'{"a":'}


def all_keys(value):
    if isinstance(value, dict):
        yield from (key for key in value if isinstance(key, str))
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from all_keys(item)


def name_of(text):
    return "".join(c if c.isalnum() else "_" for c in text)


def write_dictionary(path, words):
    path.write_text("".join('"' + "".join(f"\\x{b:02x}" for b in word) + '"\n' for word in words))


def main():
    torch, json = HERE / "corpus" / "torch", HERE / "corpus" / "json"
    torch.mkdir(parents=True, exist_ok=True)
    json.mkdir(parents=True, exist_ok=True)
    sample = variants.sample()
    for name, write in variants.SAME.items():
        (torch / f"seed_{name_of(name)}").write_bytes(write(sample))
    for name, change in variants.OTHER.items():
        changed = change(sample)
        (torch / f"seed_{name_of(name)}").write_bytes(pickle.dumps(changed, protocol=4))
        if name != "unknown keys and actions":  # these have types that torch's C++ pickler never writes
            (torch / f"seed_cpp_{name_of(name)}").write_bytes(variants.CppPickler().dumps(changed))
    long = variants.sample()
    long["device_traces"][0] = [dict(e) for e in long["device_traces"][0] * 12]
    (torch / "seed_long").write_bytes(pickle.dumps(long, protocol=4))
    for name, data in HOSTILE.items():
        (torch / f"seed_{name}").write_bytes(data)
    keys = sorted({key for name in variants.OTHER for key in all_keys(variants.OTHER[name](sample))})
    opcodes = [b"\x80\x04", b"\x94", b"](", b"e", b"}(", b"u", b"h\x05", b"j\x05\x00\x00\x00", b"\x86", b"\x8a\x08", b"q\x05"]
    write_dictionary(HERE / "torch.dict", opcodes + [bytes((0x8C, len(k))) + k.encode() for k in keys])
    for name, data in JSON.items():
        (json / f"seed_{name}").write_bytes(data)


if __name__ == "__main__":
    main()
