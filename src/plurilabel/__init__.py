"""Multi-label learning for Python, true to the papers and native to scikit-learn."""

from plurilabel import datasets
from plurilabel.lazy import BRkNN

__version__ = "0.1.0.dev0"

__all__ = ["BRkNN", "__version__", "datasets"]
