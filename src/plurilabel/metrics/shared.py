"""What other packages share with the measures."""

from plurilabel.metrics._counts import CountMeasure
from plurilabel.metrics._registry import check_measures

__all__ = ["CountMeasure", "check_measures"]
