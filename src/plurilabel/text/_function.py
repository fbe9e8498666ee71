"""FunctionEncoder: texts as vectors of any function, such as a call of an API."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.compat import Interval, check_params
from plurilabel.text._text_encoder import TextEncoder, unit_rows
from plurilabel.text._vector_cache import encoded


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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "func": [callable],
        "name": [None, str],
        "normalize": ["boolean"],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "cache": [None, str],
        "progress": [None, callable],
    }

    def __init__(
        self,
        func: Callable[[list[str]], Any],
        *,
        name: str | None = None,
        normalize: bool = True,
        batch_size: int = 100,
        cache: str | None = None,
        progress: Callable[[int, int], object] | None = None,
    ):
        self.func = func
        self.name = name
        self.normalize = normalize
        self.batch_size = batch_size
        self.cache = cache
        self.progress = progress

    def check_model(self) -> None:
        """Nothing: asking about the fixed texts again would be one more call."""

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        check_params(self)
        if self.cache is not None and not self.name:
            raise ValueError("name must say which model the vectors in cache are of, got None")
        vectors = encoded(
            texts,
            self.func,
            batch_size=self.batch_size,
            model=self.name or "func",
            cache=self.cache,
            progress=self.progress,
        )
        return unit_rows(vectors) if self.normalize else vectors
