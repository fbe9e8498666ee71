"""FunctionEncoder: texts as vectors of any function, such as a call of an API."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.compat import AtLeastOne, check_params
from plurilabel.text._text_encoder import TextEncoder, unit_rows
from plurilabel.text._vector_cache import encoded


@dataclass(eq=False, repr=False)
class FunctionEncoder(TextEncoder):
    """Encode texts by a function of your own: the embeddings of an API, a service, an LLM.

    Equal texts are encoded once, and ``cache`` keeps vectors on disk, so that what was paid for
    is never asked for again.

    Parameters
    ----------
    func : callable
        From a list of texts to an array of shape (n, d), or a list of n lists of numbers.
    name : str, default=None
        Name of the model behind the function, under which vectors are kept. Needed with ``cache``.
    normalize : bool, default=True
        Whether vectors are scaled to length 1.
    batch_size : int, default=100
        Texts for one call.
    cache : str, default=None
        Folder that keeps vectors, by name and text, each batch as soon as it is there. What was
        interrupted goes on where it stopped.
    progress : callable, default=None
        Called with the numbers of texts done and in all.

    Attributes
    ----------
    n_features_out_, probes_ :
        As in :class:`StaticEncoder`, but new vectors are not compared with ``probes_``.

    Notes
    -----
    A model file holds no functions. To serve a model on such vectors, let the caller send them:
    ``plurilabel embed`` and columns of lists of numbers.

    Examples
    --------
    >>> from plurilabel import FunctionEncoder
    >>> def lengths(texts):
    ...     return [[len(text), text.count(" ")] for text in texts]
    >>> FunctionEncoder(lengths, normalize=False).fit_transform(["a red day", "night"])
    array([[9., 2.],
           [5., 0.]], dtype=float32)
    """

    func: Annotated[Callable[[list[str]], Any], callable]
    _: KW_ONLY
    name: Annotated[str, str] | None = None
    normalize: bool = True
    batch_size: AtLeastOne = 100
    cache: Annotated[str, str] | None = None
    progress: Annotated[Callable[[int, int], object], callable] | None = None

    def check_model(self) -> None:
        """Nothing: asking about the fixed texts again would be one more call."""

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        check_params(self)
        if self.cache is not None and not self.name:
            raise ValueError("name must say which model the vectors in cache are of, got None")
        options: Any = {"batch_size": self.batch_size, "progress": self.progress}
        model = self.name or "func"
        vectors = encoded(texts, self.func, model=model, cache=self.cache, **options)
        return unit_rows(vectors) if self.normalize else vectors
