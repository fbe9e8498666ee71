"""Peak memory of this process, for a span of time where the system can tell."""

from __future__ import annotations

import sys
from pathlib import Path

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def reset_peak() -> bool:
    """Begin a span of time; False where the peak can only be that since the start."""
    try:
        _CLEAR.write_text("5")  # Linux: sets the peak resident size to the present one
    except OSError:
        return False
    return True


def peak_mb() -> float | None:
    """Largest resident size since ``reset_peak`` or the start, in MB; None where unknown."""
    try:
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 1024, 1)
    except OSError:
        pass
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)
