#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bad inputs: each is refused with one line that names the place, what was expected and what was found."""

import gzip
import json
import os
import pickle
import struct
import zlib

import snapshots
import tap
import variants

BAD_INPUT, ENVIRONMENT = 3, 4
ONLY = "which this reader refuses; only torch snapshot types are accepted"


def str1(text):
    return bytes((0x8C, len(text))) + text.encode()


# name: bytes, exit code, message.
FIXED = {
    "0 bytes": (b"", BAD_INPUT, "E_TRUNCATED: it is empty (0 bytes)"),
    "protocol 1": (b"\x80\x01}.", BAD_INPUT, "E_VERSION: pickle protocol 1 at byte 0, expected 2 to 5"),
    "no STOP": (b"\x80\x04}", BAD_INPUT, "E_TRUNCATED: the input ends at byte 3, inside the pickle, before its STOP opcode"),
    "not an opcode": (b"\x80\x04\xff", BAD_INPUT, "E_FORMAT: byte 0xff at 2 is not a pickle opcode; the file is damaged"),
    "another dict": (pickle.dumps({"a": 1, "b": 2}, 4), BAD_INPUT,
                     "E_FOREIGN: it is not a torch memory snapshot: its outermost dict has neither 'segments' nor "
                     "'device_traces'"),
    "an int": (b"\x80\x04K\x05.", BAD_INPUT, "E_FOREIGN: it is not a torch memory snapshot: the pickle holds an int, expected a dict"),
    "a list of ints": (b"\x80\x04](K\x05K\x06e.", BAD_INPUT,
                       "E_FORMAT: the list of segments holds an int at byte 8, expected a dict"),
    "os.system by GLOBAL": (b"\x80\x04" + b"cos\nsystem\n" + b"\x8c\x02ls\x85R.", BAD_INPUT,
                            f"E_REFUSED: opcode 0x63 (GLOBAL) at byte 2 names 'os.system', {ONLY}"),
    "os.system by STACK_GLOBAL": (b"\x80\x04" + str1("os") + str1("system") + b"\x93.", BAD_INPUT,
                                  f"E_REFUSED: opcode 0x93 (STACK_GLOBAL) at byte 14 names 'os.system', {ONLY}"),
    "INST": (b"\x80\x04(ios\nsystem\n.", BAD_INPUT, f"E_REFUSED: opcode 0x69 (INST) at byte 3 names 'os.system', {ONLY}"),
    "PERSID": (b"\x80\x04Psecret\n.", BAD_INPUT, f"E_REFUSED: opcode 0x50 (PERSID) at byte 2 names 'secret', {ONLY}"),
    "a name with a line feed missing": (b"\x80\x04cos", BAD_INPUT, f"E_REFUSED: opcode 0x63 (GLOBAL) at byte 2 names 'os', {ONLY}"),
    "a name of terminal codes": (b"\x80\x04c\x1b[31m\nx'y\n.", BAD_INPUT,
                                 f"E_REFUSED: opcode 0x63 (GLOBAL) at byte 2 names '?[31m.x?y', {ONLY}"),
    "POP of a list": (b"\x80\x04]0.", BAD_INPUT, "E_REFUSED: opcode 0x30 (POP) at byte 3 drops a list, which no snapshot does"),
    "POP of nothing": (b"\x80\x040.", BAD_INPUT, "E_FORMAT: the stack lacks a value to drop at byte 2"),
    "text opcodes": (b"\x80\x02I5\n.", BAD_INPUT,
                     "E_VERSION: opcode 0x49 (INT) at byte 2 belongs to the text protocols 0 and 1 of pickle, expected protocol 2 to 5"),
    "APPENDS without a mark": (b"\x80\x04]e.", BAD_INPUT, "E_FORMAT: the stack lacks a mark above a container at byte 3"),
    "APPEND to nothing": (b"\x80\x04K\x01a.", BAD_INPUT, "E_FORMAT: the stack lacks the items at byte 4"),
    "SETITEMS on a list": (b"\x80\x04](K\x01K\x02u.", BAD_INPUT, "E_FORMAT: items are added to a list at byte 8, expected a dict"),
    "an odd number of items": (b"\x80\x04}(K\x01u.", BAD_INPUT, "E_FORMAT: the stack lacks the value of the last key at byte 6"),
    "a mark left over": (b"\x80\x04}(.", BAD_INPUT, "E_FORMAT: the pickle stops at byte 4 with 2 values on its stack, expected 1"),
    "MEMOIZE of nothing": (b"\x80\x04\x94.", BAD_INPUT, "E_FORMAT: the stack lacks a value to memoise at byte 2"),
    "TUPLE2 of one": (b"\x80\x04K\x01\x86.", BAD_INPUT, "E_FORMAT: the stack lacks the items of a tuple at byte 4"),
    "a memo entry never set": (b"\x80\x04h\x07.", BAD_INPUT, "E_FORMAT: memo entry 7, used at byte 2, was never set"),
    "a memo id of 4 thousand million": (b"\x80\x04}r\x00\x28\x6b\xee.", BAD_INPUT,
                                        "E_LIMIT: memo id 4000000000 at byte 3 is larger than the number of bytes before it"),
    "a list inside itself": (b"\x80\x04]\x94h\x00a.", BAD_INPUT,
                             "E_FORMAT: items are added to the list of segments at byte 6, after its end"),
    "a string of 4 GB": (b"\x80\x04X\xff\xff\xff\xffabc", BAD_INPUT,
                         "E_TRUNCATED: opcode 0x58 (BINUNICODE) at byte 2 asks for 4294967295 bytes, the file has 3 more"),
    "a string of 2^64 bytes": (b"\x80\x04\x8d" + b"\xff" * 8 + b"abc", BAD_INPUT,
                               "E_TRUNCATED: opcode 0x8d (BINUNICODE8) at byte 2 asks for 18446744073709551615 bytes, the file has 3 more"),
    "a length cut off": (b"\x80\x04X\xff\xff", BAD_INPUT, "E_TRUNCATED: the input ends at byte 5, inside opcode 0x58 (BINUNICODE)"),
    "JSON cut off": (b'{"segments": [', BAD_INPUT, "E_TRUNCATED: the input ends at byte 14, inside JSON"),
    "JSON with a comma too many": (b'{"segments": [],}', BAD_INPUT, "E_FORMAT: JSON: expected a key at byte 16, found '}'"),
    "JSON of something else": (b'{"a": 1}', BAD_INPUT,
                               "E_FOREIGN: it is not a torch memory snapshot: its outermost dict has neither 'segments' nor "
                               "'device_traces'"),
    "JSON too deep": (b"[" * 100, BAD_INPUT, "E_LIMIT: JSON: more than 64 levels of brackets at byte 64"),
    "gzip that is damaged": (gzip.compress(b"\x80\x04}.")[:10] + b"\xff" * 20, BAD_INPUT,
                             "E_FORMAT: the gzip data is damaged: invalid block type"),
}

# Opcodes without a name in them: code, operand bytes, name.
CODE = [(0x51, b"", "BINPERSID"), (0x52, b"", "REDUCE"), (0x62, b"", "BUILD"), (0x6F, b"", "OBJ"), (0x81, b"", "NEWOBJ"),
        (0x82, b"\1", "EXT1"), (0x83, b"\1\0", "EXT2"), (0x84, b"\1\0\0\0", "EXT4"), (0x92, b"", "NEWOBJ_EX"),
        (0x97, b"", "NEXT_BUFFER"), (0x98, b"", "READONLY_BUFFER")]
FOREIGN = [(0x31, b"", "POP_MARK"), (0x32, b"", "DUP"), (0x8F, b"", "EMPTY_SET"), (0x90, b"", "ADDITEMS"),
           (0x91, b"", "FROZENSET"), (0x96, b"\0" * 8, "BYTEARRAY8")]


def register(name, data, code, message):
    @tap.test(name)
    def _(folder):
        tap.equal(snapshots.failure_of(folder, data), (code, message), "exit code and message")


for case, (case_data, case_code, case_message) in FIXED.items():
    register(case, case_data, case_code, case_message)


@tap.test("a file of an unknown kind is refused with how it begins")
def _(folder):
    for data, found in ((b"hello world", "it looks like text: 'hello wo...'"), (b"short\n", "it looks like text: 'short '"),
                        (b"\x80\x06}.", "it begins with 80 06 7d 2e"),
                        (bytes(9000), "it begins with zeros: its writer ended before it wrote the header"),
                        (b"\0\0ab", "it begins with 00 00 61 62"),
                        (b"PK\3\4\0\0\x08\x08", "it looks like a zip file, such as a checkpoint of torch.save")):
        message = f"E_FOREIGN: not a recording, PyTorch snapshot, telemetry file or OOM bundle ({found})"
        tap.equal(snapshots.failure_of(folder, data), (BAD_INPUT, message), "exit code and message")


@tap.test("every opcode that would run code is refused")
def _(folder):
    for code, operand, name in CODE:
        found = snapshots.failure_of(folder, b"\x80\x04}}" + bytes((code,)) + operand + b".")
        tap.equal(found, (BAD_INPUT, f"E_REFUSED: opcode 0x{code:02x} ({name}) at byte 4 would run code, {ONLY}"), name)
    for code, operand, name in FOREIGN:
        found = snapshots.failure_of(folder, b"\x80\x04}}" + bytes((code,)) + operand + b".")
        tap.equal(found, (BAD_INPUT, f"E_REFUSED: opcode 0x{code:02x} ({name}) at byte 4 is refused: no torch snapshot has it"), name)


# What is done to the sample, and the message; ## stands for a byte position.
DAMAGE = {
    "an event that is an int": (lambda s: s["device_traces"][0].insert(1, 7),
                                "E_FORMAT: the trace of a device holds an int at byte ##, expected a dict"),
    "an action that is an int": (lambda s: s["device_traces"][0][1].update(action=5),
                                 "E_FORMAT: the key 'action' of an event that ends at byte ## holds an int, expected a str"),
    "an event without an action": (lambda s: s["device_traces"][0][1].pop("action"),
                                   "E_FORMAT: event 1 of device 0, which ends at byte ##, has no 'action'"),
    "an event without an address": (lambda s: s["device_traces"][0][1].pop("addr"),
                                    "E_FORMAT: event 1 of device 0, which ends at byte ##, has no 'addr'"),
    "an event without a size": (lambda s: s["device_traces"][2][0].pop("size"),
                                "E_FORMAT: event 0 of device 2, which ends at byte ##, has no 'size'"),
    "a negative size": (lambda s: s["device_traces"][0][1].update(size=-5),
                        "E_FORMAT: the key 'size' of an event that ends at byte ## holds a negative int, expected an int, not negative"),
    "an address of 100 bits": (lambda s: s["device_traces"][0][1].update(addr=2**100),
                               "E_FORMAT: the key 'addr' of an event that ends at byte ## holds an int of more than 64 bits, expected an "
                               "int of 64 bits"),
    "frames that are a str": (lambda s: s["device_traces"][0][1].update(frames="x"),
                              "E_FORMAT: the key 'frames' of an event that ends at byte ## holds a str, expected a list of frames"),
    "a frame that is a str": (lambda s: s["device_traces"][0][1].update(frames=["x", "y"]),
                              "E_FORMAT: a list of frames holds a str at byte ##, expected a dict"),
    "a pool of three": (lambda s: s["device_traces"][0][1].update(pool_id=(1, 2, 3)),
                        "E_FORMAT: the key 'pool_id' of an event that ends at byte ## holds a tuple, expected a pair of ints"),
    "a pool list of three": (lambda s: s["device_traces"][0][1].update(pool_id=[1, 2, 3]),
                             "E_FORMAT: a pool id of 3 numbers at byte ##, expected 2"),
    "a key that is an int": (lambda s: s["device_traces"][0][1].update({5: 5}),
                             "E_FORMAT: an event that ends at byte ## has an int as a key, expected a str"),
    "a state nobody knows": (lambda s: s["segments"][0]["blocks"][0].update(state="resting"),
                             "E_FORMAT: the block that ends at byte ## has the state 'resting', expected active_allocated, "
                             "active_pending_free or inactive"),
    "a device of 10,000": (lambda s: s["segments"][0].update(device=10000),
                           "E_FORMAT: the segment that ends at byte ## is of device 10000, expected -1..4095"),
    "traces that are a dict": (lambda s: s.update(device_traces={"a": 1, "b": 2}),
                               "E_FORMAT: the key 'device_traces' of the snapshot that ends at byte ## holds a dict, expected a list"),
    "a trace that is an int": (lambda s: s["device_traces"].append(3),
                               "E_FORMAT: the list of device traces holds an int at byte ##, expected a list of events"),
    "an event that occurs twice": (lambda s: s["device_traces"][0].append(s["device_traces"][0][1]),
                                   "E_FORMAT: the trace of a device holds a reference to an object from elsewhere at byte "
                                   "##, expected a dict"),
}


def register_damage(name, damage, message):
    @tap.test(name)
    def _(folder):
        snapshot = variants.sample()
        damage(snapshot)
        code, found = snapshots.failure_of(folder, pickle.dumps(snapshot, protocol=4))
        position = found.split("byte ")[1].split(" ")[0].rstrip(",")
        tap.equal((code, found), (BAD_INPUT, message.replace("##", position)), "exit code and message")
        tap.true(position.isdigit(), f"a byte position, found {position!r}")


for case, (case_change, case_message) in DAMAGE.items():
    register_damage(case, case_change, case_message)


@tap.test("a file that was cut off is refused wherever it ends")
def _(folder):
    # test_pickle_vm does this at every byte, in memory.
    full = pickle.dumps(variants.sample(), protocol=4)
    path = os.path.join(folder, "cut")
    with open(path, "wb") as file:
        file.write(full)
    for size in range(len(full) - 1, 0, -97):
        os.truncate(path, size)
        code, message = snapshots.failure_at(path)
        tap.equal(code, BAD_INPUT, f"exit code at {size} bytes ({message})")
        tap.true(message.startswith(("E_TRUNCATED", "E_FOREIGN")), f"the end named at {size} bytes, found {message!r}")


@tap.test("a memo entry that is redefined is noticed, not taken for the old one")
def _(folder):
    """The bytes of the two lists of frames are equal; what they refer to is not."""
    memo = iter(range(1000))
    ids = {}

    def text(value):
        ids[value] = next(memo)
        return str1(value) + b"\x94"

    def opened(byte):
        next(memo)
        return byte + b"\x94"

    def event(extra=b""):
        body = b"".join(b"h" + bytes((ids[k],)) + v for k, v in (("action", b"h" + bytes((ids["alloc"],))), ("addr", b"K\x01"),
                                                                 ("size", b"K\x02")))
        return opened(b"}") + b"(" + body + extra + b"h" + bytes((ids["frames"],)) + opened(b"]") + b"(" + run + b"eu"

    data = b"\x80\x04" + opened(b"}") + b"(" + text("segments") + opened(b"]") + text("device_traces") + opened(b"]")
    data += opened(b"]") + b"(" + opened(b"}") + b"(" + text("action") + text("alloc") + text("addr") + b"K\x01" + text("size")
    data += b"K\x02" + text("frames") + opened(b"]") + b"("
    frame = next(memo)
    data += b"}\x94(" + text("name") + text("f") + text("filename") + text("g") + text("line") + b"K\x01ueu"
    run = (b"h" + bytes((frame,))) * 3
    good = data + event() + event() + b"".join(event() for _ in range(40))
    snapshot = pickle.loads(good + b"eau.")
    snapshots.check(snapshots.load_bytes(folder, good + b"eau."), snapshot)
    changed = data + event() + event() + event(str1("compile_context") + str1("x") + b"q" + bytes((frame,))) + good[len(data):]
    code, message = snapshots.failure_of(folder, changed + b"eau.")
    tap.equal(code, BAD_INPUT, "exit code")
    tap.contains(message, "E_FORMAT: a list of frames holds a str at byte")


@tap.test("a gzip file that was cut off is refused with the byte where it ends")
def _(folder):
    data = gzip.compress(pickle.dumps(variants.sample(), protocol=4))
    for size in (20, len(data) // 2, len(data) - 1):
        code, message = snapshots.failure_of(folder, data[:size])
        tap.equal((code, message), (BAD_INPUT, "E_TRUNCATED: the compressed data ends too early, at byte "
                                    f"{size} of the file"), "exit code and message")


@tap.test("a compressed file that expands more than 200 times is refused")
def _(folder):
    squeeze = zlib.compressobj(1, zlib.DEFLATED, 31)
    data = squeeze.compress(b"\x80\x04}\x94(" + str1("segments") + b"]" + str1("junk") + b"]\x94(")
    for _ in range(300):
        data += squeeze.compress(b"K\x01" * 500 + b"e(" + b"K\x02e(" * 262144)
    data += squeeze.flush()
    code, message = snapshots.failure_of(folder, data)
    tap.equal(code, BAD_INPUT, f"exit code ({message})")
    tap.contains(message, "E_LIMIT: the compressed input expands more than 200 times")


@tap.test("deep nesting is refused at the stack's limit")
def _(folder):
    data = b"\x80\x04}\x94(" + str1("junk") + b"]" * 1_100_000
    code, message = snapshots.failure_of(folder, data)
    tap.equal((code, message), (BAD_INPUT, "E_LIMIT: more than 1048576 unfinished values on the stack at byte 1048584"), "message")


@tap.test("a list that is doubled thirty times by references is refused")
def _(folder):
    data = b"\x80\x04}\x94(" + str1("segments") + b"]" + str1("junk") + b"]\x94"
    for i in range(30):
        data += b"]\x94(h" + bytes((i + 1,)) + b"h" + bytes((i + 1,)) + b"e"
    data += b"u."
    code, _ = snapshots.failure_of(folder, data)
    tap.equal(code, BAD_INPUT, "exit code")


@tap.test("of two equal keys the last one is used, as in Python")
def _(folder):
    snapshot = variants.sample()
    data = pickle.dumps(snapshot, protocol=2)
    snapshots.check(snapshots.load_bytes(folder, data), snapshot)
    text = json.dumps(snapshot).replace('"size": 1000,', '"size": 3, "size": 1000,', 1)
    snapshots.check(snapshots.load_bytes(folder, text.encode()), snapshot)


@tap.test("a folder is refused")
def _(folder):
    tap.equal(snapshots.failure_at(folder), (BAD_INPUT, "E_OPEN: it is a folder, expected a file"), "exit code and message")


@tap.test("a file that does not exist is refused")
def _(folder):
    found = snapshots.failure_at(os.path.join(folder, "none"))
    tap.equal(found, (BAD_INPUT, "E_OPEN: it cannot be opened: No such file or directory"), "exit code and message")


@tap.test("a file without read permission is refused")
def _(folder):
    if os.geteuid() == 0:
        tap.skip("root may read everything")
    path = os.path.join(folder, "secret")
    with open(path, "wb") as file:
        file.write(b"\x80\x04}.")
    os.chmod(path, 0)
    found = snapshots.failure_at(path)
    tap.equal(found, (ENVIRONMENT, "E_PERMISSION: it cannot be opened: Permission denied"), "exit code and message")


@tap.test("an integer of 255 bytes is skipped, and one longer than the file is refused")
def _(folder):
    data = b"\x80\x04}(" + str1("segments") + b"]" + str1("junk") + b"\x8a\xff" + b"\x7f" * 255 + b"u."
    tap.equal(snapshots.load_bytes(folder, data)["unknown_keys"], 1, "unknown keys")
    data = b"\x80\x04}(" + str1("segments") + b"]" + str1("junk") + b"\x8b" + struct.pack("<I", 2**31) + b"\x01u."
    code, message = snapshots.failure_of(folder, data)
    tap.equal((code, message), (BAD_INPUT, "E_TRUNCATED: opcode 0x8b (LONG4) at byte 21 asks for 2147483648 bytes, the file has 3 more"),
              "exit code and message")


tap.main()
