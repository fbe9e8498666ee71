"""Everything that is measured, with one command for each page.

``python -m benchmarks`` lists the commands. ``speed`` has the groups of the benchmarks page,
``papers`` the published tables and the program that repeats them, ``pages`` a program for each
other page of figures, ``harness`` their shared code, and ``results`` the measured figures.
"""

from pathlib import Path

RESULTS = Path(__file__).parent / "results"
"""The folder of measured figures."""
