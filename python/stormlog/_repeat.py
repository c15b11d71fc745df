# SPDX-License-Identifier: MIT
"""A function called at intervals in a thread."""

import threading
from typing import Any, Callable, Optional


class Repeater:
    """Calls ``work`` every ``interval()`` seconds in a daemon thread. Starting twice or stopping twice does nothing; it can be
    started again after a stop."""

    def __init__(self, name: str, work: Callable[[], Any], interval: Callable[[], float], at_once: bool = True) -> None:
        self._name = name
        self._work = work
        self._interval = interval
        self._at_once = at_once
        self._stop = threading.Event()
        self._thread: Optional[threading.Thread] = None

    @property
    def thread(self) -> Optional[threading.Thread]:
        return self._thread

    @property
    def is_running(self) -> bool:
        return self._thread is not None

    def start(self) -> None:
        if self._thread is not None:
            return
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(self._stop,), name=self._name, daemon=True)
        self._thread.start()

    def _run(self, stop: threading.Event) -> None:
        if self._at_once:
            self._work()
        while not stop.wait(self._interval()):
            self._work()

    def pause(self, seconds: float) -> None:
        """For ``work``: waits, unless it is stopped meanwhile."""
        self._stop.wait(seconds)

    def stop(self, timeout_s: Optional[float] = None) -> bool:
        """Waits for the thread, except when called from it; False when it has not ended in time."""
        thread, self._thread = self._thread, None
        if thread is None:
            return True
        self._stop.set()
        if thread is threading.current_thread():
            return True
        thread.join(timeout_s)
        return not thread.is_alive()


def check_interval(interval: float) -> float:
    """The interval; ValueError when it is not above 0."""
    if not interval > 0:
        raise ValueError(f"interval must be > 0, found {interval}")
    return interval
