"""Label rows from nothing to a model: people, a queue, suggestions and their quality.

:class:`LabelProject` works without HTTP; ``plurilabel label`` and :func:`plurilabel.serve.run`
serve it as a page.
"""

from plurilabel._core.roster import publish
from plurilabel.serve.labeling._project import LabelProject

__all__ = ["LabelProject"]

publish(globals())
