"""Names read from the sources are those of the library, and errors come without imports."""

import subprocess
import sys
from importlib import import_module

import pytest
from sklearn import metrics as theirs
from sklearn.base import is_classifier
from sklearn.datasets import make_multilabel_classification
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import get_tags

import plurilabel
from plurilabel import metrics
from plurilabel._core import names
from plurilabel.learners import learner_names, make_learner
from plurilabel.learners._spec import _modules


def test_measures_are_found_in_the_sources():
    assert set(names.measure_names()) == set(metrics.measure_names())
    assert set(names.ALIASES.values()) <= set(metrics.measure_names())
    assert not set(names.ALIASES) & set(metrics.measure_names())


def test_learners_are_found_in_the_sources():
    for name in _modules():
        names.check_learner(f"MLkNN({name})")
    listed = names.no_learner("?").partition("there are ")[2].partition(", and scikit")[0]
    assert listed.split(", ") == learner_names()


def test_errors_import_nothing():
    code = (
        "import sys; from plurilabel._core import names\n"
        "for call in (lambda: names.check_measure('f1_mcro'),"
        " lambda: names.check_learner('MLkNNN(7)')):\n"
        "    try: call()\n"
        "    except ValueError as error: print(str(error)[-30:])\n"
        "print('sklearn' in sys.modules, 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "did you mean f1_micro?" in done.stdout and "did you mean MLkNN?" in done.stdout
    assert done.stdout.endswith("False False\n")


def test_those_of_one_label_are_those_that_say_so():
    for module, words in names.SKLEARN.items():
        for name in words.split():
            kind = getattr(import_module(f"sklearn.{module}"), name)
            if name.startswith(("OneVsRest", "MultiOutput", "Dummy")) or not is_classifier(kind()):
                assert name not in names.ONE_LABEL
                continue
            assert (name in names.ONE_LABEL) != get_tags(kind()).classifier_tags.multi_label


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("LogisticRegression", "BinaryRelevance(LogisticRegression)"),
        ("StandardScaler | SVC(C=[1, 2])", "StandardScaler | BinaryRelevance(SVC(C=[1, 2]))"),
    ],
)
def test_a_classifier_of_one_label_is_refused_with_the_way_out(text, instead):
    with pytest.raises(ValueError, match="learns one label only") as error:
        make_learner(text)
    assert str(error.value).endswith(f"write {instead}")
    make_learner(instead)


def test_names_of_scikit_learn_mean_the_same():
    X, Y = make_multilabel_classification(
        100, 5, n_classes=4, allow_unlabeled=False, random_state=0
    )
    model = KNeighborsClassifier(3).fit(X, Y)
    found = metrics.evaluate(Y, metrics.label_scores(model, X), model.predict(X))
    for name in ("f1_micro", "f1_macro", "f1_samples", "precision_micro", "recall_macro"):
        expected = theirs.get_scorer(name)(model, X, Y)
        assert metrics.get_scorer(name)(model, X, Y) == pytest.approx(expected)
        assert found[name] == pytest.approx(expected)
    expected = theirs.jaccard_score(Y, model.predict(X), average="samples")
    assert found["jaccard_samples"] == pytest.approx(expected)
    expected = theirs.roc_auc_score(Y, metrics.label_scores(model, X), average="macro")
    assert found["roc_auc"] == pytest.approx(expected)
    with pytest.raises(KeyError, match="f1_nano"):
        found["f1_nano"]
    with pytest.raises(ValueError, match="did you mean f1_micro"):
        metrics.get_measure("f1_mikro")
    assert plurilabel.GlobalThreshold("f1_macro").fit(X[:, :4], Y).cut_ == (
        plurilabel.GlobalThreshold("macro_f1").fit(X[:, :4], Y).cut_
    )
