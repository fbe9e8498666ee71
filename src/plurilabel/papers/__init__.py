"""Published results as data, and running them again: ``papers.reproduce("ml-knn")``."""

from plurilabel._public import publish
from plurilabel.papers._page import draw_figures, write_page
from plurilabel.papers._paper import Paper, load_paper, paper_names
from plurilabel.papers._reproduce import UnknownPart, reproduce
from plurilabel.papers._reproduction import Reproduction

__all__ = [
    "Paper",
    "Reproduction",
    "UnknownPart",
    "draw_figures",
    "load_paper",
    "paper_names",
    "reproduce",
    "write_page",
]

publish(globals())
