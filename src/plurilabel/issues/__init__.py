"""Labels that are probably wrong, found by what other models, labels and neighbours say."""

from plurilabel._public import publish
from plurilabel.issues._find import LabelIssues, find_label_issues
from plurilabel.issues._quality import label_quality

__all__ = ["LabelIssues", "find_label_issues", "label_quality"]

publish(globals())
