"""StaticEncoder: the mean of word vectors that were learned once, from other texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from plurilabel._core.compat import import_extra
from plurilabel.text._text_encoder import TextEncoder, unit_rows

WORDLLAMA = "wordllama"
BATCH = 4096  # texts, so that their tokens are not all in memory


@dataclass(eq=False, repr=False)
class StaticEncoder(TextEncoder):
    """Encode texts as the mean of static vectors of their tokens.

    Each token has one vector, whatever stands beside it. That takes 40 microseconds for a short
    text on one core and needs no GPU. With up to 300 rows it was level with TF-IDF or ahead; from
    1,000 rows on, both beside each other (:func:`plurilabel.io.word_features`) were ahead of
    either. The guide to text has the figures.

    Parameters
    ----------
    model : str, default="wordllama"
        "wordllama" for the 256 dimensions inside the package of that name, which work offline, or
        a folder with a model of model2vec. A model file may name a folder below the working
        directory, such as ``"models/potion"``, but no other.
    normalize : bool, default=True
        Whether vectors are scaled to length 1. An empty text has the vector 0 in any case.

    Attributes
    ----------
    n_features_out_ : int
        Dimensions.
    probes_ : ndarray of shape (2, n_features_out_)
        Vectors of two fixed texts. An encoder that is loaded from a file holds no model, and
        refuses to answer with one whose vectors differ from these.

    Notes
    -----
    Needs wordllama (``pip install 'plurilabel[text]'``), which is 16 MB with its vectors and needs
    neither torch nor the network. A folder needs model2vec (``pip install model2vec``).

    Examples
    --------
    >>> from plurilabel import StaticEncoder
    >>> encoder = StaticEncoder().fit(["any text"])
    >>> vectors = encoder.transform(["a cat sleeps", "kittens nap", "the stock market fell"])
    >>> vectors.shape
    (3, 256)
    >>> (vectors @ vectors[0]).round(1)
    array([ 1. ,  0.6, -0.1], dtype=float32)
    """

    model: Annotated[str, str] = WORDLLAMA
    _: KW_ONLY
    normalize: bool = True

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        encode = static_model(self.model)
        parts = [encode(texts[i : i + BATCH]) for i in range(0, len(texts), BATCH)]
        vectors = np.concatenate(parts)
        return unit_rows(vectors) if self.normalize else vectors


@lru_cache(maxsize=4)
def static_model(model: str) -> Callable[[list[str]], NDArray[np.float32]]:
    """The function from texts to vectors, (n, d), of a model; loaded once in each process."""
    if model == WORDLLAMA:
        return _wordllama()
    if not Path(model).is_dir():
        raise ValueError(f"model must be {WORDLLAMA!r} or a folder, got {model!r}")
    try:
        from model2vec import StaticModel
    except ImportError:
        needs = f"StaticEncoder({model!r}) needs model2vec"
        raise ImportError(f"{needs}: pip install model2vec") from None
    loaded = StaticModel.from_pretrained(model)

    def encode(texts: list[str]) -> NDArray[np.float32]:
        return np.asarray(loaded.encode(texts, use_multiprocessing=False), dtype=np.float32)

    return encode


def _wordllama() -> Callable[[list[str]], NDArray[np.float32]]:
    """Read the files of the package without importing it."""
    # Its import would set up logging for the whole process, and its own mean, over texts that are
    # padded to the longest, takes three times as long.
    tokenizers = import_extra("tokenizers", "StaticEncoder", "text")
    load = import_extra("safetensors.numpy", "StaticEncoder", "text").load_file
    spec = find_spec(WORDLLAMA)
    if spec is None or spec.origin is None:
        raise ImportError("StaticEncoder needs wordllama: pip install 'plurilabel[text]'")
    root = Path(spec.origin).parent
    file = root / "tokenizers" / "l2_supercat_tokenizer_config.json"
    tokenizer = tokenizers.Tokenizer.from_file(str(file))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    weights = load(root / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
    table = weights.astype(np.float32)  # (tokens, d)

    def encode(texts: list[str]) -> NDArray[np.float32]:
        found = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        tokens = [np.array(one.ids, dtype=np.int32) for one in found]
        sizes = np.array([len(one) for one in tokens])
        flat = np.concatenate(tokens)
        counts = sparse.csr_array(
            (np.ones(len(flat), np.float32), flat, np.concatenate([[0], np.cumsum(sizes)])),
            shape=(len(texts), len(table)),
        )
        means: NDArray[np.float32] = (counts @ table) / np.maximum(sizes, 1)[:, None]
        return means.astype(np.float32)

    return encode
