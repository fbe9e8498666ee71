"""Labels from many hands: votes, their agreement, and their fusion."""

from plurilabel._core.roster import publish
from plurilabel.votes._fuse import fuse
from plurilabel.votes._fused import Fused
from plurilabel.votes._read import read_votes
from plurilabel.votes._votes import Votes

__all__ = ["Fused", "Votes", "fuse", "read_votes"]

publish(globals())
