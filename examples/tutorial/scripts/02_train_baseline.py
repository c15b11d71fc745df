# SPDX-License-Identifier: MIT
"""Step 2: the clean run that everything else is compared with."""

from retention import NoRetention
from tracking_helpers import measured_run

measured_run("baseline", NoRetention())
