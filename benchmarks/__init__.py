"""Everything that is measured: programs, peers, results, and one command for each page.

``python -m benchmarks`` lists the commands. ``speed`` has the groups of the benchmarks page,
``pages`` a program for each other page of figures, ``harness`` what they share, and ``results``
their figures as data.
"""

from pathlib import Path

RESULTS = Path(__file__).parent / "results"
"""The folder of measured figures."""
