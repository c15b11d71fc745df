# SPDX-License-Identifier: MIT
"""Step 9: the fix: scalars on the host, and a bounded number of them."""

from retention import ScalarSummaryRetention
from tracking_helpers import measured_run

measured_run("fixed", ScalarSummaryRetention())
