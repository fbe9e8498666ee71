"""Comparisons take bags, and learners of bags as text."""

from plurilabel._core.records import digest_of
from plurilabel.bags import Bags
from plurilabel.datasets import Dataset
from plurilabel.evaluation import compare
from tests.bags.problems import concept_bags


def test_learners_of_bags_are_compared():
    X, Y = concept_bags(0, n=90)
    texts = ["OnInstances(MinMaxScaler()) | MIMLkNN()", "BagsToRows('mean') | MLkNN()"]
    data = {"bags": Dataset(X, Y)}
    found = compare(data, texts, cv=3, measures=["average_precision"], n_jobs=None)
    assert (found.means("average_precision") > 0.8).all()


def test_digest_sees_where_bags_begin():
    X = Bags([[[1.0], [2.0]], [[3.0]]])
    assert digest_of(X) == digest_of(Bags(X.instances, X.offsets))
    assert digest_of(X) != digest_of(Bags(X.instances, [0, 1, 3]))
