# SPDX-License-Identifier: MIT
"""Every function of the extension modules with invalid values: a Python error, never SystemError or a crash.

Each function runs in a process of its own, so that a crash names it.
"""

import inspect
import math
import os
import sys
import tempfile

import tap

STARTS = {"start", "stop", "load"}  # these act on the whole process; load() of a bad path is tested below
ALLOWED = (TypeError, ValueError, OverflowError, OSError, RuntimeError, KeyError, AttributeError, MemoryError)


class Liar(dict):
    """A mapping that returns other things than it should."""

    def keys(self):
        return [1, None, "x"]

    def __getitem__(self, key):
        return self


class BadNumber(float):
    def __float__(self):
        raise ValueError("no")


class Index:
    def __index__(self):
        return 1 << 70


class Text(str):
    def __str__(self):
        raise ValueError("no")


class Raises:
    def __getattr__(self, name):
        raise ValueError(name)

    def __repr__(self):
        raise ValueError("repr")

    def __iter__(self):
        raise ValueError("iter")

    def __len__(self):
        return -1


def nasty():
    loop = []
    loop.append(loop)
    table = {}
    table["metadata"] = table
    deep = {}
    at = deep
    for _ in range(5000):
        at["metadata"] = {}
        at = at["metadata"]
    call = ("f", math.nan, math.inf, -math.inf, 2 ** 63 - 1, -(2 ** 63), 2 ** 63 - 1, -(2 ** 63))
    return [None, True, 0, -1, 2 ** 31, 2 ** 59, 2 ** 63, 2 ** 64, -(2 ** 63), 10 ** 400, 0.5, math.nan, math.inf, -math.inf,
            1e308, "", "x", "a\0b", "\udcff", "\ud800" * 3, "x" * 100000, b"", b"\xff", b"a\0", [], (), {}, set(), range(5),
            [1, "x"], [math.nan] * 3, [math.inf, -math.inf, 1e308], [10 ** 400], [None], [()], [call] * 4, [call[:7]],
            [["f", 1, 1, 1, 1, 1, 1, 1]], loop, table, deep, Liar(), [Liar()], BadNumber(1), [BadNumber(1)], Index(), Text("x"),
            Raises(), [Raises()], object(), type, len, lambda: 0, memoryview(b"x"), iter([]), {"\ud800": "\ud800"}, {1: 2},
            {"schema_version": 2, "timestamp_ns": 2 ** 64, "rank": 2 ** 59}, "/", "/dev/null", "/proc/nonexistent"]


def shapes(values, required):
    """Argument lists: each value alone, in every required place, and in all of them."""
    for value in values:
        yield (value,)
        yield (value,) * max(required, 2)
        for place in range(required):
            for filler in ("json", [1.0, 2.0, 3.0], 1):
                yield tuple(value if i == place else filler for i in range(required))


def required_of(function):
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return 2
    return sum(1 for one in parameters if one.default is one.empty and one.kind != one.KEYWORD_ONLY)


def keywords_of(function):
    try:
        return [name for name, one in inspect.signature(function).parameters.items()
                if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD) and one.default is not one.empty]
    except ValueError:
        return []


def call(where, function, *args, **keywords):
    try:
        function(*args, **keywords)
    except ALLOWED as error:
        if type(error).__name__ == "InternalError" or isinstance(error, RuntimeError) and "bug" in str(error):
            print(f"{where}: {type(error).__name__}: {error}", file=sys.stderr)
            os._exit(1)
    except BaseException as error:
        print(f"{where}({str([str(type(a)) for a in args])[:200]}, {list(keywords)}): {type(error).__name__}: {error}",
              file=sys.stderr)
        os._exit(1)


def torture(where, function):
    values = nasty()
    call(where, function)
    for args in shapes(values, required_of(function)):
        call(where, function, *args)
    for name in keywords_of(function):
        for value in values:
            for first in ([], "/proc/nonexistent", {}, [("f", 1.0, 0.0, 1.0, 0, 1, 2, 3)] * 4):
                call(where, function, first, **{name: value})


def child(name):
    """In a process of its own, in an empty folder."""
    from stormlog import _read, _record, recording

    if name.startswith("_record."):
        try:
            recording._load()  # else every function is a RuntimeError at once
        except RuntimeError:
            pass
    module, _, attribute = name.partition(".")
    found = getattr({"_read": _read, "_record": _record}[module], attribute)
    if attribute == "Chart":
        torture_chart(found)
    elif attribute == "MemoryWatch":
        torture(name, found)
        bare = found.__new__(found)
        bare.start()
        bare.stop()
        bare.stop()
        call(name, found.__new__, int)
    else:
        torture(name, found)


def torture_chart(kind):
    torture("Chart", kind)
    for columns in (-1, 0, 1, 7, 2 ** 31 - 1):
        for panel in ("lines", "points", "bars", "cells"):
            for x in (None, [0, 1, 2], [math.nan] * 3, [1e308, -1e308, 0], [5, 5, 5], [math.inf, 0, -math.inf]):
                for y in ([0, 0, 0], [math.nan] * 3, [1e308, -1e308, 1], [math.inf, -math.inf, 5e-324], [-1, 2 ** 60, 3]):
                    made = kind("t", 200, 200, columns)
                    made.panel(panel, "p")
                    call("series", made.series, "s", x, y)
                    call("note", made.note, "n", y[0], y[1])
                    call("svg", made.svg)
    for name in ("label", "note", "panel", "series", "svg", "write"):
        made = kind("t", 200, 200)
        torture(f"Chart.{name}", getattr(made, name))
        call(name, made.svg)


def functions():
    from stormlog import _read, _record

    for short, module in (("_read", _read), ("_record", _record)):
        for name, value in sorted(vars(module).items()):
            is_error = isinstance(value, type) and issubclass(value, BaseException)
            if callable(value) and not name.startswith("__") and not is_error and not (short == "_record" and name in STARTS):
                yield f"{short}.{name}"


def make_test(name):
    @tap.test(f"{name} raises a Python error for every invalid value")
    def _(folder):
        result = tap.run([sys.executable, os.path.abspath(__file__), "--child", name], cwd=folder, timeout=240)
        tap.equal((result.returncode, result.stderr[-2000:]), (0, ""), "exit code and complaints")


@tap.test("load raises ImportError for what is not a library, TypeError or ValueError for other values")
def _():
    from stormlog import _record

    for value, expected in (("/nonexistent.so", ImportError), (3, TypeError), (None, TypeError), ("a\0b", ValueError), ([], TypeError)):
        try:
            _record.load(value)
            found = None
        except Exception as error:
            found = type(error)
        tap.equal(found, expected, f"load({value!r})")


@tap.test("record() refuses numbers that do not fit, names the range, and never wraps around")
def _(folder):
    import stormlog

    for options in ({"max_entries": 2 ** 59}, {"max_entries": 2 ** 64}, {"max_entries": 0}, {"max_entries": -1},
                    {"interval_ms": 2 ** 32 + 100}, {"interval_ms": 9}, {"interval_ms": -1}):
        try:
            stormlog.record(dir=folder, **options)
            raise AssertionError(f"{options} was taken")
        except ValueError as error:
            tap.contains(str(error), f"{next(iter(options))} must be ", str(options))


@tap.test("a device or a count that does not fit raises OverflowError, and is never taken for another one")
def _():
    from stormlog import _read

    for function, args in ((_read.report, ([],)), (_read.diff, ("/a", "/b")), (_read.export, ("/a", "folded", "/b"))):
        for number in (2 ** 32, -(2 ** 40), 2 ** 70):
            try:
                function(*args, device=number)
                found = None
            except Exception as error:
                found = type(error)
            tap.equal(found, OverflowError, f"{function.__name__}(device={number})")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        os.chdir(tempfile.mkdtemp(dir=os.getcwd()))
        child(sys.argv[2])
        sys.exit(0)
    for one in functions():
        make_test(one)
    tap.main()
