"""Training spread over a cluster by labels, members and folds: a backend of joblib."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import sys
import time
import weakref
from collections.abc import Iterable
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any
from uuid import uuid4

import numpy as np
from joblib import parallel_config
from joblib.parallel import AutoBatchingMixin, ThreadingBackend

from plurilabel._core.compat import import_extra
from plurilabel._core.records import digest_of, write_atomic
from plurilabel.distributed._blocks import workers
from plurilabel.distributed._cluster import TRIES, connected, result_of

SIZE = 16  # bytes of digests
LARGE = 1 << 20  # bytes from which an array is sent once to each worker


@contextmanager
def spread(scheduler: Any = "threads", *, store: str | os.PathLike[str] | None = None) -> Any:
    """Fit learners on a cluster: what they do in parallel on one machine becomes tasks of Dask.

    This holds for all that takes ``n_jobs``: the labels of :class:`~plurilabel.BinaryRelevance`
    and :class:`~plurilabel.OneVsAllLinear`, the members of :class:`~plurilabel.EnsembleOfChains`
    and :class:`~plurilabel.RAkEL`, the pairs of label ranking, the folds of calibration and of
    the automatic choice. The learners are those of one machine, bit for bit.

    Parameters
    ----------
    scheduler : str or distributed.Client, default="threads"
        Address of a cluster, or "threads" for those of this process.
    store : path, default=None
        Folder for finished parts. If the same fit is started again, as after a crash, it goes on
        where it was stopped. Files are pickles: use only folders that nobody else can write to.

    Notes
    -----
    Data and label columns must fit into the memory of this process and of each worker. Arrays of
    1 MB or more are sent to each worker once, even if several tasks use them. Tasks of a worker
    that is killed run again elsewhere; if four workers die over one task, there is an error.

    A part is found again in the store by its content: data, parameters and versions of the
    libraries, but not the code of your own modules: use another folder if you change it. Set
    ``random_state``, since a learner without it is another one each time. Damaged files are made
    again.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from plurilabel import BinaryRelevance, distributed
    >>> X, Y = [[0.0], [1.0], [2.0], [3.0]], [[1, 0], [1, 0], [0, 0], [0, 1]]
    >>> with distributed.spread("threads"):
    ...     learner = BinaryRelevance(LogisticRegression()).fit(X, Y)
    >>> learner.predict([[-1.0], [4.0]]).tolist()
    [[1, 0], [0, 1]]
    """
    import_extra("distributed", "spread", "dask")
    with connected(scheduler) as client:
        backend = Spread(client, None if store is None else Path(store), nesting_level=0)
        try:
            with parallel_config(backend=backend, n_jobs=-1):
                yield
        finally:
            backend.arrays.futures.clear()


class Spread(AutoBatchingMixin, ThreadingBackend):
    """A backend of joblib whose threads wait for tasks on a cluster."""

    supports_sharedmem = False  # or what shares memory would be sent, too

    def __init__(self, client: Any = None, store: Path | None = None, **options: Any):
        super().__init__(**options)
        self.client, self.arrays = client, _Arrays(client)
        self.active: Any = weakref.WeakSet()  # tasks
        self.store = None if store is None else store.absolute()

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        # one task more than there are threads, which begins where another ends
        return 1 if n_jobs is None else n_jobs if n_jobs > 0 else 1 + workers()[0]

    def start_call(self) -> None:
        self.arrays.names.clear()  # arrays may have been changed since the last call

    def submit(self, func: Any, callback: Any = None) -> Any:
        return super().submit(partial(self._run, func), callback)

    def apply_async(self, func: Any, callback: Any = None) -> Any:  # of older versions
        return super().apply_async(partial(self._run, func), callback)

    def abort_everything(self, ensure_ready: bool = True) -> None:
        if self.client is not None:
            self.client.cancel(list(self.active))
        super().abort_everything(ensure_ready)

    def _run(self, batch: Any) -> list[Any]:
        """The results of a batch of calls: from the store, or computed."""
        run = _called if self.client is None else self._remotely
        if self.store is None:
            return run(batch.items)
        paths = [self.store / key[:2] / f"{key}.pickle" for key in map(self._key, batch.items)]
        found: dict[Path, Any] = {}
        for path in paths:
            with suppress(FileNotFoundError):
                digest, content = (whole := path.read_bytes())[:SIZE], whole[SIZE:]
                if digest == _digest(content):  # else it is damaged, and made again
                    found[path] = pickle.loads(content)
        missing = [pair for pair in zip(paths, batch.items) if pair[0] not in found]
        results = run([item for _, item in missing]) if missing else []
        for (path, _), found[path] in zip(missing, results):
            path.parent.mkdir(parents=True, exist_ok=True)
            content = import_module("cloudpickle").dumps(found[path])
            with write_atomic(path) as stream:
                stream.write(_digest(content) + content)
        return [found[path] for path in paths]

    def _remotely(self, items: list[Any]) -> list[Any]:
        names: dict[str, Any] = {}
        calls = [self._dumped(item, names) for item in items]
        what = getattr(items[0][0], "__name__", "part").strip("_")
        for left in reversed(range(TRIES)):
            try:
                futures = {name: self.arrays.future(name, of) for name, of in names.items()}
                key = f"{what}-{uuid4().hex[:12]}"
                task = self.client.submit(_loaded_and_called, calls, futures, key=key)
                self.active.add(task)
                return result_of(self.client, task)
            except OSError as error:
                # the only worker with an array died, or the one that it was sent to
                if not left or type(error) is ConnectionError or self.client.status != "running":
                    raise
                self.arrays.lost(names)
                time.sleep(1)
        raise AssertionError

    def _dumped(self, item: Any, names: dict[str, Any], modules: set[str] | None = None) -> bytes:
        """A call in bytes, with names in place of its large arrays, which are added to names.

        For a key, the packages of the classes are added to modules.
        """

        class Pickler(import_module("cloudpickle").Pickler):  # type: ignore[misc]
            def persistent_id(_, value: Any) -> str | None:
                if modules is not None:
                    modules.add(type(value).__module__.split(".")[0])
                    # estimators that are being fitted have the time, and a new number
                    if type(value).__module__.startswith("sklearn.callback"):
                        return "callback"
                if not isinstance(value, np.ndarray) or value.nbytes < LARGE:
                    return None
                if value.dtype.hasobject or type(value) not in (np.ndarray, np.memmap):
                    return None
                name = self.arrays.name(value)
                names[name] = value
                return name

        stream = io.BytesIO()
        Pickler(stream, protocol=5).dump(item)
        return stream.getvalue()

    def _key(self, item: Any) -> str:
        function, args, kwargs = item
        # without the configuration and warning filters of scikit-learn's ``delayed``
        call = (getattr(function, "function", function), args, kwargs)
        modules = {"numpy", "plurilabel", "scipy", "sklearn"}
        content = self._dumped(call, {}, modules)
        versions = [getattr(sys.modules.get(name), "__version__", "") for name in sorted(modules)]
        return _digest(content + repr(versions).encode()).hex()


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=SIZE).digest()


class _Arrays:
    """Large arrays on the workers, each as long as it is in use here."""

    def __init__(self, client: Any):
        self.client, self.lock = client, Lock()
        self.names: dict[int, str] = {}  # by the id of an array
        self.futures: dict[str, Any] = {}
        self.copied: set[str] = set()  # those that are on all workers

    def name(self, array: Any) -> str:
        """Name of an array by its content and layout."""
        name = self.names.get(id(array))
        if name is None:
            order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
            name = f"array-{digest_of(np.asarray(array))}-{order}"
            self.names[id(array)] = name
            weakref.finalize(array, self.names.pop, id(array), None)
        return name

    def future(self, name: str, array: Any) -> Any:
        """The array on the cluster: on one worker first, and on all with its second use."""
        with self.lock:
            if name not in self.futures:
                self.futures[name] = self.client.scatter(array, hash=False)
                weakref.finalize(array, self.lost, [name])
            elif name not in self.copied:
                self.copied.add(name)
                self.client.replicate([self.futures[name]])
            return self.futures[name]

    def lost(self, names: Any) -> None:
        """Forget arrays on workers, which are sent again if they are needed."""
        for name in names:
            self.futures.pop(name, None)
            self.copied.discard(name)


def _called(calls: Iterable[Any]) -> list[Any]:
    with parallel_config(backend="sequential"):
        return [function(*args, **kwargs) for function, args, kwargs in calls]


def _loaded_and_called(calls: list[bytes], arrays: dict[str, Any]) -> list[Any]:
    class Unpickler(pickle.Unpickler):
        def persistent_load(_, name: str) -> Any:
            # Dask may leave arrays where no float may begin: slower, and rounded differently
            return np.require(arrays[name], requirements="A")

    return _called(Unpickler(io.BytesIO(call)).load() for call in calls)
