"""Published tables as data, and the runs that repeat them: ``python -m benchmarks reproduce``."""

from benchmarks.papers.paper import load_paper, paper_names
from benchmarks.papers.runs import reproduce

__all__ = ["load_paper", "paper_names", "reproduce"]
