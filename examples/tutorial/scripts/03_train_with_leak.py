# SPDX-License-Identifier: MIT
"""Step 3: the same training with DeviceTensorRetention. The accuracy does not show it; the memory does."""

from retention import DeviceTensorRetention
from tracking_helpers import measured_run

measured_run("leak", DeviceTensorRetention())
