"""TransformerEncoder: texts as vectors of a sentence-transformers model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray

from plurilabel._core.compat import AtLeastOne, check_params
from plurilabel.text._text_encoder import PROBES, TextEncoder, unit_rows
from plurilabel.text._vector_cache import encoded


@dataclass(eq=False, repr=False)
class TransformerEncoder(TextEncoder):
    """Encode texts by a transformer: BERT and its kin, as sentence-transformers loads them.

    Each token is seen in its context, which takes 6 milliseconds (6 layers of 384) to 55 (12 of
    768) for a text of 20 tokens on one core; a GPU is used where there is one. Texts of similar
    length are encoded together, equal texts once, and ``cache`` keeps what was encoded.

    Parameters
    ----------
    model : str
        A folder with a model of sentence-transformers, or a name such as
        ``"sentence-transformers/all-MiniLM-L6-v2"``. Only ``fit`` downloads; predictions use
        what is on this machine. A model file may name a folder below the working directory, such
        as ``"models/minilm"``, but no other.
    normalize : bool, default=True
        Whether vectors are scaled to length 1.
    batch_size : int, default=256
        Texts that are encoded and written to the cache at a time.
    device : str, default=None
        Such as "cpu" or "cuda"; by default the GPU if there is one.
    cache : str, default=None
        Folder that keeps vectors, by model and text. What was interrupted goes on where it
        stopped.
    progress : callable, default=None
        Called with the numbers of texts done and in all.

    Attributes
    ----------
    n_features_out_, probes_ :
        As in :class:`StaticEncoder`.

    Notes
    -----
    Needs sentence-transformers: ``pip install sentence-transformers``.
    """

    model: Annotated[str, str]
    _: KW_ONLY
    normalize: bool = True
    batch_size: AtLeastOne = 256
    device: Annotated[str, str] | None = None
    cache: Annotated[str, str] | None = None
    progress: Annotated[Callable[[int, int], object], callable] | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Load the model, and download it first if it is not on this machine."""
        check_params(self)
        try:
            _loaded(self.model, self.device)
        except (OSError, ValueError):
            if Path(self.model).is_dir():
                raise  # there is nothing to download
            _sentence_transformers().SentenceTransformer(self.model, device="cpu")
        return super().fit(X, y)

    def _probes(self) -> NDArray[np.float32]:
        probes = _loaded(self.model, self.device)[1]
        return unit_rows(probes) if self.normalize else probes

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        encode, probes = _loaded(self.model, self.device)
        options: Any = {"batch_size": self.batch_size, "model": self.model, "cache": self.cache}
        if self.cache is not None:
            kept = encoded(PROBES[:1], encode, **options)
            if kept.shape[1] != probes.shape[1] or not np.allclose(kept, probes[:1], atol=1e-3):
                raise ValueError(
                    f"cache {self.cache!r} holds vectors of another model that is also "
                    f"called {self.model!r}; use another folder"
                )
        vectors = encoded(texts, encode, **options, progress=self.progress)
        return unit_rows(vectors) if self.normalize else vectors


def _sentence_transformers() -> Any:
    try:
        import sentence_transformers
    except ImportError:
        problem = "TransformerEncoder needs sentence-transformers: pip install "
        raise ImportError(problem + "sentence-transformers") from None
    return sentence_transformers


@lru_cache(maxsize=2)
def _loaded(model: str, device: str | None) -> tuple[Any, NDArray[np.float32]]:
    """The function of a model from texts to vectors, and the vectors of the probes."""
    # It is loaded once in each process. Nothing is downloaded: a model file must not be able to
    # make a machine that reads it fetch anything.
    found = _sentence_transformers().SentenceTransformer(
        model, device=device, local_files_only=True, trust_remote_code=False
    )

    def encode(texts: list[str]) -> NDArray[np.float32]:
        vectors = found.encode(texts, show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(vectors, dtype=np.float32)

    return encode, encode(list(PROBES))
