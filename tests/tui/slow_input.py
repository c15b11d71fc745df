# SPDX-License-Identifier: MIT
"""A snapshot that comes in two parts through a pipe: what is live at its end and some events, then the rest when asked for."""

import gzip
import os
import threading

# Of the events, with the first part: well below all of them.
EVENT_BYTES = 100_000


class SlowInput:
    def __init__(self, folder, source):
        with gzip.open(source) as file:
            self.data = file.read()
        self.path = os.path.join(folder, "slow.pickle")
        self.wants_rest = threading.Event()
        os.mkfifo(self.path)
        threading.Thread(target=self.write, daemon=True).start()

    def write(self):
        middle = self.data.index(b"device_traces") + EVENT_BYTES
        try:
            with open(self.path, "wb", buffering=0) as to:
                to.write(self.data[:middle])
                self.wants_rest.wait()
                to.write(self.data[middle:])
        except BrokenPipeError:
            pass  # the program has ended
