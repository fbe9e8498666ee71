"""What other packages share with the statistics of datasets."""

from plurilabel.datasets._describe import set_scumble

__all__ = ["set_scumble"]
