"""Keys of learners: whatever differs has another, whatever is equal the same one."""

import datetime
import os
import re
import subprocess
import sys
import types
from collections import OrderedDict
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, special, stats
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import FunctionTransformer

from plurilabel import MLkNN
from plurilabel._core.keys import NoKey, key_of, key_or_none
from plurilabel._core.records import digest_of
from plurilabel._core.roster import learners
from plurilabel.learners import make_learner

LONG = list(range(50))


def fitted(step):
    return LogisticRegression().fit([[0], [step]], [0, 1])


def two_modules():
    """Classes of one name, in two modules."""
    found = []
    for name in ("one", "other"):
        module = types.ModuleType(name)
        module.__version__ = "1"
        kind = type("Learner", (LogisticRegression,), {"__module__": name})
        module.Learner = kind
        sys.modules[name] = module
        found.append(kind())
    return found


DIFFERENT = [
    None, True, 1, 1.0, "1", np.nan, 0.0, -0.0, b"1", bytearray(b"1"), 1j, Ellipsis,
    np.float64(1), np.float32(1), np.int64(1), np.bool_(True), np.str_("1"),
    [1], (1,), [[1]], {1}, frozenset({1}), {1: 1}, {"1": 1}, range(1), slice(1), [1, 1],
    OrderedDict(a=1, b=2), OrderedDict(b=2, a=1), LONG, [*LONG[:20], -1, *LONG[21:]],
    np.arange(3), np.arange(3.0), np.arange(3)[None], np.array([None, 1]), np.array(["a"]),
    np.arange(2000), np.where(np.arange(2000) == 1000, 0, np.arange(2000)),
    np.array([np.arange(2000), None], object),
    np.array([np.where(np.arange(2000) == 1000, 0, np.arange(2000)), None], object),
    np.array(["2020"], "M8[D]"), np.array(["2020"], "M8[Y]"),
    np.ma.masked_array([1, 2], [0, 1]), np.ma.masked_array([1, 2], [1, 0]),
    sparse.csr_array(np.eye(2)), sparse.csr_array(np.eye(2, dtype=int)),
    pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]}), pd.DataFrame({"a": ["None"]}),
    pd.DataFrame({"a": [None]}), pd.Series([1]), pd.Series([1], dtype="category"),
    pd.Series(pd.Categorical(["a"], ["a", "b"])), pd.Series(pd.Categorical(["a"], ["b", "a"])),
    pd.Series(pd.Categorical(["a"], ["b", "a"], ordered=True)),
    len, np.log1p, np.mean, special.expit, "a".join, "b".join, MLkNN, datetime.date(2020, 1, 1),
    partial(np.mean, axis=0), partial(np.mean, axis=1), re.compile("a"), re.compile("a", re.I),
    KFold(3), KFold(4), StratifiedKFold(3), stats.uniform(0, 1), stats.uniform(0, 2),
    np.random.RandomState(0), np.random.RandomState(1), np.random.default_rng(0),
    MLkNN(), MLkNN(7), MLkNN(7.0), LogisticRegression(), *two_modules(),
    FrozenEstimator(fitted(1)), FrozenEstimator(fitted(2)),
    FunctionTransformer(np.log1p), FunctionTransformer(np.exp),
    FunctionTransformer().set_output(transform="pandas"),
]  # fmt: skip


def test_what_differs_has_another_key():
    keys = [key_of(value) for value in DIFFERENT]
    assert len(set(keys)) == len(keys)


def test_what_is_equal_has_the_same_key():
    for one, other in (
        ({"b": 1, "a": 2}, {"a": 2, "b": 1}),
        ({"ab", "ac", "ad"}, {"ad", "ac", "ab"}),
        (float("nan"), np.nan),
        (np.asfortranarray(np.eye(3)), np.eye(3)),
        (fitted(1), LogisticRegression()),  # as ``clone`` sees it
        (LogisticRegression(random_state=np.random.RandomState(3)),
         LogisticRegression(random_state=np.random.RandomState(3))),
    ):  # fmt: skip
        assert key_of(one) == key_of(other)
    assert key_of(fitted(1), fitted=True) == key_of(fitted(1), fitted=True)
    assert key_of(fitted(1), fitted=True) != key_of(fitted(2), fitted=True)


def test_keys_do_not_depend_on_the_process():
    program = (
        "from plurilabel import MLkNN; from plurilabel._core.keys import key_of; "
        "import numpy as np; print(key_of(MLkNN(7), {'a', 'b', 'c'}, np.mean, int))"
    )
    environment = {"PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, check=True
    )
    assert found.stdout.decode().strip() == key_of(MLkNN(7), {"a", "b", "c"}, np.mean, int)


def test_a_version_is_part_of_the_key(monkeypatch):
    before, without = key_of(MLkNN()), key_of(MLkNN(), versions=False)
    monkeypatch.setattr("plurilabel.__version__", "99")
    assert key_of(MLkNN()) != before
    assert key_of(MLkNN(), versions=False) == without


def test_the_source_counts_where_there_is_no_version(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    keys = []
    for body in ("x + 1", "x + 2"):
        (tmp_path / "made_up.py").write_text(f"def change(x):\n    return {body}\n")
        sys.modules.pop("made_up", None)
        sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
        import made_up

        sys.dont_write_bytecode = before
        keys.append(key_of(made_up.change))
    monkeypatch.delitem(sys.modules, "made_up")
    assert keys[0] != keys[1]


def test_digests_of_data_see_arrays_in_full():
    long = np.arange(2000)
    one, other = np.empty(2, object), np.empty(2, object)
    one[0], other[0] = long, np.where(long == 1000, 0, long)
    assert digest_of(one) != digest_of(other)
    assert digest_of(one) == digest_of(one.copy())
    days = np.array(["2020-01-01", "2020-01-02"], "M8[D]")
    assert digest_of(days) != digest_of(days[::-1])


class Stubborn:
    def __reduce_ex__(self, protocol):
        raise OSError("not this one")


def test_what_cannot_be_told_from_others_has_no_key():
    def local():
        pass

    class Local:
        pass

    nested = []
    for _ in range(5000):
        nested = [nested]
    for value in (lambda x: x, local, Local, Local(), Stubborn(), (i for i in []), sys, nested):
        with pytest.raises(NoKey):
            key_of(FunctionTransformer(kw_args={"a": value}))
    assert key_or_none(lambda x: x) is None
    own = [1]
    own.append(own)
    assert key_of(own) != key_of([1, [1]])


def changed(value):
    """Values that a parameter may have instead."""
    if isinstance(value, bool):
        return [not value, int(value)]
    if isinstance(value, int | float):
        return [value + 1, float(value) + 0.5, -value if value else -0.0]
    if isinstance(value, str):
        return [value + "_", None]
    return [0.25, "other", LONG, [*LONG[:30], -1, *LONG[31:]]]


FORMS = [form for entry in learners().values() for form in entry.checked]


@pytest.mark.parametrize("form", FORMS)
def test_every_parameter_of_every_learner_is_in_its_key(form):
    learner = make_learner(form)
    keys = [key_of(learner), *(key_of(c) for c in every_change(learner))]
    assert key_of(make_learner(form)) == keys[0]
    assert len(set(keys)) == len(keys)


def every_change(learner):
    """The learner with each of its parameters changed; they are not checked before ``fit``."""
    for name, value in learner.get_params(deep=True).items():
        if hasattr(value, "get_params"):
            continue  # its own parameters follow
        for other in changed(value):
            if key_of(other) == key_of(value):
                continue
            learner.set_params(**{name: other})
            yield learner
        learner.set_params(**{name: value})


def test_keys_of_equal_and_of_nameless():
    assert key_of(MLkNN(7)) == key_of(MLkNN(n_neighbors=7)) != key_of(MLkNN(9))
    with pytest.raises(NoKey, match="<lambda> cannot be imported by its name"):
        key_of(lambda x: x)
