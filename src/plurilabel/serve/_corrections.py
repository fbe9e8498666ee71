"""Check, store and learn corrections."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import get_tags

from plurilabel.serve._ledger import Ledger
from plurilabel.serve._row_reader import MISSING, BadInput, check_text, checked_labels, one_line
from plurilabel.serve._store import Entry, Store, StoreError
from plurilabel.serve._training import Trained, Training

_LONGEST_KEY = 200
_FAILED = "the last refit failed:"
_ERRORS = (ValueError, TypeError, OverflowError)


class Corrections:
    """The log of corrections, and the model that has learned them.

    Entries of the store are replayed; if that fails, it is closed. ``remarks`` has failed refits.
    """

    def __init__(self, training: Training, store: Store, remarks: list[str]) -> None:
        self.training, self.store, self.remarks = training, store, remarks
        self.model, self.reader = training.model, training.reader
        self._lock = threading.Lock()  # guards the ledger, the model and the refitter
        self._refitted = threading.Condition(self._lock)
        self._closed = False
        self._refitter: threading.Thread | None = None
        try:
            self.ledger = Ledger(training.n_given)
            for entry in store.entries():
                self._replay(entry)
            self.now = Trained(self.model, 0, np.arange(training.n_given))
            if self.ledger.version:
                self.now = self._learned()
        except BaseException:
            store.close()
            raise

    def _replay(self, entry: Entry) -> None:
        """Add an entry of the store to the ledger; the file may have been altered."""
        try:
            if entry.undoes is None:
                labels = None if entry.labels is None else list(entry.labels)
                checked_labels(labels, self.training.places)
                if entry.row is None:
                    self.reader.records([entry.features])
            self.ledger.add(entry)
        except BadInput as error:
            problem = f"correction {entry.id} does not fit the model: {error}"
            raise StoreError(f"{self.store.path} is damaged: {problem}") from None

    def _learned(self) -> Trained:
        """The model that has learned all entries of the store."""
        try:
            return self.training.learned(self.now, self.ledger)
        except _ERRORS as error:
            problem = f"the model cannot learn its corrections: {one_line(error)}"
            raise StoreError(f"{self.store.path}: {problem}") from None

    def take(self, requests: Sequence[Any]) -> list[Any]:
        with self._lock:
            if self._closed:
                raise BadInput("the service is being stopped", status=503)
            try:
                return self._take(requests)
            except StoreError:
                raise
            except _ERRORS as error:
                if len(requests) == 1:
                    return [self._refusal(error, requests[0])]
        # one of them cannot be learned: take one at a time
        return [result for request in requests for result in self.take([request])]

    def history(self, most: int = 200) -> list[dict[str, Any]]:
        ledger = self.ledger
        found = []
        for entry in list(reversed(ledger.entries.values()))[:most]:
            more: dict[str, Any] = {"undoes": entry.undoes}
            if entry.undoes is None:
                more = {"labels": list(entry.labels or ()), "undone": ledger.undone(entry.id)}
                more["new"] = entry.row is None
            row, learned = ledger.row_of(entry), entry.id <= self.now.version
            found.append(
                {"id": entry.id, "time": entry.time, "row": row, "learned": learned, **more}
            )
        return found

    def settle(self, timeout: float | None = None) -> bool:
        with self._lock:
            self._refitted.wait_for(lambda: self._refitter is None, timeout)
            return self.now.version == self.ledger.version

    def close(self) -> None:
        with self._lock:
            self._closed = True
        refitter = self._refitter
        if refitter is not None:
            refitter.join(timeout=5)
        self.store.close()

    def _refusal(self, error: Exception, request: Any) -> BadInput:
        if isinstance(error, BadInput):
            return error
        words, problem = "the model cannot learn this: ", one_line(error)
        for i, one in enumerate(request if isinstance(request, list) else []):
            if one.get("features") is not None:  # already checked
                read = self.reader.read_records(self.reader.records([one["features"]]))
                if named := self.reader.huge(problem, read.X):
                    return BadInput(words + named.problem, row=i, column=named.column)
        return BadInput(words + problem)

    def _take(self, requests: Sequence[Any]) -> list[Any]:
        ledger, results, new = self.ledger.copy(), list[Any](), list[Entry]()
        for request in requests:
            first = len(new)
            try:
                results.append(self._entered(request, ledger, new))
            except BadInput as error:
                del new[first:]
                ledger = self.ledger.copy()  # drop the entries of this request
                for entry in new:
                    ledger.add(entry)
                results.append(error)
        if new:
            exact = self.training.how == "exact"
            trained = self.training.learned(self.now, ledger) if exact else self.now
            self.store.append(new)
            self.ledger, self.now = ledger, trained
            if self.training.how == "refit":
                self._start_refit()
        return [self._acknowledged(result) for result in results]

    def _entered(self, request: Any, ledger: Ledger, new: list[Entry]) -> Any:
        """Add the entries of one request to the ledger; return pairs of id and row."""
        if isinstance(request, int):
            new.append(Entry(ledger.version + 1, undoes=request))
            return [(new[-1].id, ledger.add(new[-1]))]
        if not isinstance(request, list) or not request:
            raise BadInput("corrections must be a list with at least one correction")
        done = []
        for i, one in enumerate(request):
            entry = self._entry(one, i, ledger)
            if entry.id not in ledger.entries:  # otherwise it was sent again
                ledger.add(entry)
                new.append(entry)
            done.append((entry.id, ledger.row_of(entry)))
        return done

    def _entry(self, one: Any, i: int, ledger: Ledger) -> Entry:
        if not isinstance(one, Mapping):
            raise BadInput("a correction must be an object", row=i)
        if strange := set(one) - {"row", "features", "labels", "key"}:
            raise BadInput(f"a correction has no {str(min(strange))[:60]!r}", row=i)
        if "labels" not in one:
            raise BadInput("a correction must have labels", row=i)
        labels = checked_labels(one["labels"], self.training.places, i)
        key, row, features = one.get("key"), one.get("row"), one.get("features")
        if key is not None:
            _check_key(key, i)
        if (row is None) == (features is None):
            raise BadInput("a correction must have either row or features", row=i)
        if key in ledger.keys:
            return self._same(ledger.entries[ledger.keys[key]], one, labels, i)
        if row is not None:
            _check_row(row, i, ledger)
        else:
            features = self._checked_features(features, i)
        about: Any = {"row": row, "features": features, "labels": tuple(labels), "key": key}
        return Entry(ledger.version + 1, **about)

    def _same(self, entry: Entry, one: Any, labels: list[str], i: int) -> Entry:
        """The entry of a correction that was sent again with its key."""
        row, features = one.get("row"), one.get("features")
        same = type(row) is type(entry.row) and row == entry.row and entry.labels == tuple(labels)
        if same and features is not None:
            with _in_row(i):
                (record,) = self.reader.records([features])
            same = self.reader.key(entry.features) == self.reader.key(record)
        if not same:
            raise BadInput(f"key {entry.key!r} was used for another correction", row=i, status=409)
        return entry

    def _checked_features(self, features: Any, i: int) -> Any:
        """Check a new row by encoding it as in training."""
        learner = self.model.learner
        takes_nan = hasattr(learner, "__sklearn_tags__") and get_tags(learner).input_tags.allow_nan
        with _in_row(i):
            (record,) = self.reader.records([features])
            read = self.reader.read_records([record])
            try:
                X = self.model.encoded(read.X)
            except _ERRORS as error:
                raise self.reader.blamed(error, read) from None
            finite = sparse.issparse(X) or np.isfinite(np.asarray(X, np.float64)).all()
            # missing values would be learned immediately
            if self.training.how == "exact" and not (takes_nan or finite):
                named = self.reader.missing(read) or self.reader.huge("too large", read.X)
                raise named or BadInput(MISSING)
        return record

    def _acknowledged(self, result: Any) -> Any:
        if isinstance(result, BadInput):
            return result
        return {
            "version": self.now.version,
            "applied": all(id <= self.now.version for id, _ in result),
            "corrections": [{"id": id, "row": row} for id, row in result],
        }

    def _start_refit(self) -> None:
        """Start a refit in the background if none is running. The lock must be held."""
        if self._refitter is None or not self._refitter.is_alive():
            self._refitter = threading.Thread(target=self._refit, name="refit", daemon=True)
            self._refitter.start()

    def _refit(self) -> None:
        while True:
            with self._lock:
                ledger, before = self.ledger, self.now
                if self._closed or ledger.version == before.version:
                    self._end_refit()
                    return
            try:
                trained = self.training.learned(before, ledger)
            except Exception as error:  # of any learner; the previous model keeps serving
                with self._lock:
                    self.remarks[:] = [one for one in self.remarks if not one.startswith(_FAILED)]
                    self.remarks.append(f"{_FAILED} {str(error)[:300]}")
                    self._end_refit()
                return
            with self._lock:
                self.now = trained

    def _end_refit(self) -> None:
        self._refitter = None
        self._refitted.notify_all()


@contextmanager
def _in_row(i: int) -> Iterator[None]:
    """Name the row of a correction in errors."""
    try:
        yield
    except BadInput as error:
        raise error.at(i) from None
    except _ERRORS as error:
        raise BadInput(one_line(error), row=i) from None


def _check_key(key: Any, i: int) -> None:
    if not isinstance(key, str) or not 0 < len(key) <= _LONGEST_KEY or "\0" in key:
        raise BadInput(f"key must be a text of at most {_LONGEST_KEY} characters", row=i)
    check_text(key, i, None, "key")


def _check_row(row: Any, i: int, ledger: Ledger) -> None:
    if not isinstance(row, int) or isinstance(row, bool):
        raise BadInput("row must be a whole number", row=i)
    if not ledger.has(row):
        raise BadInput(f"there is no row {str(row)[:30]} in the training set", row=i, status=404)
