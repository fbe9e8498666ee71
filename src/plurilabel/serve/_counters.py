"""Counters of the service, as Prometheus reads them."""

from __future__ import annotations

from collections import Counter
from typing import Any

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Counters:
    """Requests by path and status, and how long they took. For one thread: that of the loop."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.seconds: dict[str, list[Any]] = {}  # by path: counts of the buckets, then the sum
        self.rows = 0

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        self.requests[path, status] += 1
        found = self.seconds.setdefault(path, [0] * (len(BUCKETS) + 1) + [0.0])
        place = next((i for i, limit in enumerate(BUCKETS) if seconds <= limit), len(BUCKETS))
        found[place] += 1
        found[-1] += seconds

    def text(self, gauges: dict[str, tuple[str, str, Any]]) -> str:
        """Everything in the text format; gauges by name: kind, help and value."""
        lines = [
            "# HELP plurilabel_requests_total Requests by path and status.",
            "# TYPE plurilabel_requests_total counter",
        ]
        for (path, status), n in sorted(self.requests.items()):
            lines.append(f'plurilabel_requests_total{{path="{path}",status="{status}"}} {n}')
        lines += [
            "# HELP plurilabel_request_seconds How long requests took.",
            "# TYPE plurilabel_request_seconds histogram",
        ]
        for path, found in sorted(self.seconds.items()):
            total: int = 0
            for limit, n in zip([*map(str, BUCKETS), "+Inf"], found):
                total += int(n)
                name = "plurilabel_request_seconds_bucket"
                lines.append(f'{name}{{path="{path}",le="{limit}"}} {total}')
            lines.append(f'plurilabel_request_seconds_sum{{path="{path}"}} {found[-1]:.6f}')
            lines.append(f'plurilabel_request_seconds_count{{path="{path}"}} {total}')
        for name, (kind, words, value) in gauges.items():
            lines += [f"# HELP {name} {words}", f"# TYPE {name} {kind}", f"{name} {value}"]
        return "\n".join(lines) + "\n"
