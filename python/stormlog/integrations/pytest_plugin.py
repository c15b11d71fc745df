# SPDX-License-Identifier: MIT
"""pytest: ``@pytest.mark.stormlog(max_peak="100MiB", no_leak=True, fits="24GiB")``. pytest finds the plugin by itself where stormlog is
installed; else ``-p stormlog.integrations.pytest_plugin``.

Results do not depend on the machine's load, on other tests or on their order: only the test's own body is recorded, and what is compared
are the sizes that it asked for, never a clock or the process's size. The allocator's cache is emptied before.

``max_peak``   highest bytes of blocks of the test that were live at once.
``no_leak``    judged over the steps of the test (stormlog.step(), an optimizer's steps). A test without enough steps is called three more
               times with the same fixtures: a line whose memory grew from the second to the third call and again to the fourth leaks; what
               the first calls make (workspaces, caches) does not.
``fits``       whether a card with this much for PyTorch's allocator would do, by replay. Without CUDA it is a warning; where others hold
               memory on the card (fixtures, earlier tests) the replay cannot be proven, and the test fails saying so.
A test fails with one line that names the line of code. Recordings of failed tests stay in pytest's temporary folder."""

from __future__ import annotations

import contextlib
import gc
import inspect
import os
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest

_OPTIONS, _CALLS = {"max_peak", "no_leak", "fits"}, 3


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "stormlog(max_peak=None, no_leak=False, fits=None): limits for the memory of PyTorch in this test")


def _settle() -> None:
    """What happened before must not decide what the test's blocks look like. A card that failed raises here; the test itself reports it."""
    gc.collect()
    torch = sys.modules.get("torch")
    with contextlib.suppress(RuntimeError):
        if torch is not None and torch.cuda.is_initialized():
            torch.cuda.synchronize()
            torch.cuda.empty_cache()


def _record_calls(folder: Path, body: Callable[[], Any]) -> str:
    """Calls the body; each call ends a step. The recording, or "" when nothing was allocated."""
    import stormlog
    from stormlog.recording import own_steps

    with stormlog.record(dir=folder, oom_snapshot=None) as recording:
        own_steps()
        for _ in range(_CALLS):
            body()
            _settle()
            stormlog.step()
        return str(recording.path or "")


def _grown(recording: str, device: int, before: int, after: int) -> Dict[str, int]:
    """Bytes by line that are live after one step and were not after another. Nothing grew on a device without events in a step."""
    import stormlog
    from stormlog.integrations._evidence import line_of

    try:
        found = stormlog.diff(recording, recording, at=(f"step:{before}", f"step:{after}"), device=device, top=1000)
    except stormlog.UsageError:
        return {}
    return {line_of(row["site"]): row["delta_bytes"] for pair in found["diffs"] for row in pair["rows"] if row["delta_bytes"] > 0}


def _leaks_of_calls(folder: Path, body: Callable[[], Any]) -> List[str]:
    import stormlog
    from stormlog.integrations._evidence import human

    recording, leaks = _record_calls(folder, body), []
    for device in stormlog.analyze(recording, whatif=False)["devices"] if recording else ():
        each, first = divmod(device["steps"] or 0, _CALLS)  # several in a call where the body marks steps of its own
        second, third = (_grown(recording, device["device"], first + at * each - 1, first + (at + 1) * each - 1) for at in (1, 2))
        leaks += [f"{line}: leaks {human(third[line])} per call ({recording})" for line in second if line in third]
    return leaks


def _failures(recording: str, limits: Dict[str, Any]) -> Tuple[List[str], bool]:
    """(one line per failed gate, whether leaks could be judged)"""
    import stormlog
    from stormlog.integrations._evidence import Evidence, line_of

    report = Evidence(recording).report
    devices, leaks = report["devices"], [finding for finding in report["findings"] if finding["kind"] == "leak"]
    top = max((row for device in devices for row in device["top_peak"]), key=lambda row: int(row["bytes"]), default={"site": None})
    found = []
    for gate in stormlog.check(recording, **limits)["gates"] if any(limits.values()) else ():
        if gate["refused"] and all(device["device"] < 0 for device in devices):
            warnings.warn(f"stormlog: fits was not checked: {gate['text']}", stacklevel=1)
        elif not gate["passed"]:
            site = leaks[0]["site"] if gate["name"] == "no-leak" and leaks else top["site"]
            found.append(f"{line_of(site)}: {gate['text']} ({recording})")
    return found, any(device["leaks_judged"] for device in devices)


def _limits_of(item: pytest.Function) -> Optional[Dict[str, Any]]:
    limits: Dict[str, Any] = {}
    marks = list(item.iter_markers("stormlog"))
    for mark in reversed(marks):  # the nearest last
        limits.update(mark.kwargs)
        if mark.args or set(mark.kwargs) - _OPTIONS:
            pytest.fail(f"@pytest.mark.stormlog takes {', '.join(sorted(_OPTIONS))}; found {mark.args or mark.kwargs}", pytrace=False)
    return limits if marks else None


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    limits = _limits_of(pyfuncitem)
    if limits is None or os.environ.get("STORMLOG_DISABLE", "0") not in ("", "0"):
        yield
        return
    import stormlog

    if stormlog.health()["is_on"]:
        warnings.warn(f"stormlog: {pyfuncitem.nodeid} was not checked: this process is recorded already", stacklevel=1)
        with stormlog.phase(pyfuncitem.nodeid):
            yield
        return
    folder: Path = pyfuncitem._request.getfixturevalue("tmp_path_factory").mktemp("stormlog")
    _settle()
    with stormlog.record(dir=folder, oom_snapshot=None, replay=bool(limits.get("fits"))) as recording:
        outcome: Any = yield
        _settle()
        path, is_on = recording.path, recording.is_on
    if not is_on:
        warnings.warn(f"stormlog: {pyfuncitem.nodeid} was not checked: nothing could be recorded in {folder}", stacklevel=1)
    if outcome.excinfo is not None:
        return
    try:
        failures, is_judged = _failures(path, limits) if path else ([], False)
    except stormlog.UsageError as problem:  # a limit that is not one
        failures, is_judged = [f"@pytest.mark.stormlog: {str(problem).removeprefix('stormlog: ').partition('; see ')[0]}"], True
    if limits.get("no_leak") and path and not is_judged and not inspect.iscoroutinefunction(pyfuncitem.obj):
        names = pyfuncitem._fixtureinfo.argnames
        failures += _leaks_of_calls(folder, lambda: pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    if not failures:
        shutil.rmtree(folder, ignore_errors=True)
    elif hasattr(outcome, "force_exception"):  # pluggy 1.1
        outcome.force_exception(pytest.fail.Exception("\n".join(failures), pytrace=False))
    else:
        pytest.fail("\n".join(failures), pytrace=False)
