"""Bags of instances with several labels: the container and distances."""

from plurilabel._bags import Bags
from plurilabel._public import publish
from plurilabel.bags._hausdorff import hausdorff_distances

__all__ = ["Bags", "hausdorff_distances"]

publish(globals())
