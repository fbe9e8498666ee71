"""The standard datasets as data: where their files are, what must be in them, whom to cite."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A known dataset: its files, and the figures that a good copy must show.

    ``files`` lie in a folder of the dataset's name; each may be gzipped. With two files the first
    is the training part of the split. ``features`` counts columns as loaded (a nominal attribute
    with several values has one for each), ``sets`` the distinct label sets, ``cardinality`` the
    mean number of labels per instance. ``train_counts`` are the label counts of the published
    training part: by them its rows are found again in a copy that has lost the split.
    """

    files: tuple[str, ...]
    instances: int
    features: int
    labels: int
    cardinality: float
    sets: int
    citation: str
    xml: str | None = None
    drop: tuple[str, ...] = ()
    openml: int | None = None
    label_names: tuple[str, ...] | None = None
    train_counts: tuple[int, ...] | None = None


def _mulan(
    name: str,
    *figures: float,
    split: bool = True,
    citation: str,
    openml: int | None = None,
    train_counts: tuple[int, ...] | None = None,
) -> Entry:
    n, d, q, cardinality, sets = figures
    parts = (f"{name}-train.arff", f"{name}-test.arff") if split else (f"{name}.arff",)
    drop = ("protein",) if name == "genbase" else ()
    return Entry(
        parts,
        int(n),
        int(d),
        int(q),
        cardinality,
        int(sets),
        citation,
        xml=f"{name}.xml",
        drop=drop,
        openml=openml,
        train_counts=train_counts,
    )


_IMAGE_LABELS = ("desert", "mountains", "sea", "sunset", "trees")
_IMAGE = (
    "M.-L. Zhang, Z.-H. Zhou. ML-kNN: a lazy learning approach to multi-label learning. "
    "Pattern Recognition 40(7), 2007."
)
_BAGS = (
    "Z.-H. Zhou, M.-L. Zhang. Multi-instance multi-label learning with application to scene "
    "classification. NIPS 19, 2006."
)
_SAMPLE = (
    "M.-L. Zhang, J. M. Pena, V. Robles. Feature selection for multi-label naive Bayes "
    "classification. Information Sciences 179(19), 2009."
)

# The OpenML numbers are those of the multi-label collection 40588 to 40597; other datasets of the
# same names there have a single target. What arrives is checked against the figures here.
CATALOG: dict[str, Entry] = {
    "yeast": _mulan(
        "yeast", 2417, 103, 14, 4.237, 198, openml=40597,
        train_counts=(476, 645, 598, 532, 441, 378, 261, 289, 98, 161, 198, 1128, 1116, 21),
        citation="A. Elisseeff, J. Weston. A kernel method for multi-labelled classification. "
        "NIPS 14, 2001.",
    ),
    "scene": _mulan(
        "scene", 2407, 294, 6, 1.074, 15, openml=40595,
        train_counts=(227, 165, 197, 196, 277, 224),
        citation="M. R. Boutell, J. Luo, X. Shen, C. M. Brown. Learning multi-label scene "
        "classification. Pattern Recognition 37(9), 2004.",
    ),
    "emotions": _mulan(
        "emotions", 593, 72, 6, 1.869, 27, openml=40589, train_counts=(119, 107, 168, 89, 95, 131),
        citation="K. Trohidis, G. Tsoumakas, G. Kalliris, I. Vlahavas. Multilabel classification "
        "of music into emotions. ISMIR 2008.",
    ),
    "image": Entry(
        ("image-train.arff", "image-test.arff"), 2000, 294, 5, 1.236, 20, _IMAGE,
        xml="image.xml", openml=40592, label_names=_IMAGE_LABELS,
    ),
    "image-bags": Entry(
        ("image/miml data.mat",), 2000, 15, 5, 1.236, 20, _BAGS, label_names=_IMAGE_LABELS
    ),
    "image-600": Entry(
        ("image/image-600-sample.mat",), 600, 294, 5, 1.235, 18, _SAMPLE,
        label_names=_IMAGE_LABELS,
    ),
    "flags": _mulan(
        "flags", 194, 43, 7, 3.392, 54,
        citation="E. C. Goncalves, A. Plastino, A. A. Freitas. A genetic algorithm for optimizing "
        "the label ordering in multi-label classifier chains. ICTAI 2013 (data: UCI Flags).",
    ),
    "foodtruck": _mulan(
        "foodtruck", 407, 31, 12, 2.290, 116, split=False,
        citation="A. Rivolli, L. C. Parker, A. C. P. L. F. de Carvalho. Food truck recommendation "
        "using multi-label classification. EPIA 2017.",
    ),
    "cal500": _mulan(
        "cal500", 502, 68, 174, 26.044, 502, split=False,
        citation="D. Turnbull, L. Barrington, D. Torres, G. Lanckriet. Semantic annotation and "
        "retrieval of music and sound effects. IEEE TASLP 16(2), 2008.",
    ),
    "genbase": _mulan(
        "genbase", 662, 1185, 27, 1.252, 32, openml=40591,
        citation="S. Diplaris, G. Tsoumakas, P. Mitkas, I. Vlahavas. Protein classification with "
        "multiple algorithms. PCI 2005.",
    ),
    "medical": _mulan(
        "medical", 978, 1449, 45, 1.245, 94,
        citation="J. P. Pestian et al. A shared task involving multi-label classification of "
        "clinical free text. BioNLP 2007.",
    ),
    "slashdot": Entry(
        ("SLASHDOT-F.arff",), 3782, 1079, 22, 1.181, 156,
        "J. Read. Scalable multi-label classification. PhD thesis, University of Waikato, 2010.",
        openml=40596,
    ),
    "reuters-k500": _mulan(
        "reuters-k500", 6000, 500, 103, 1.462, 811,
        citation="D. D. Lewis, Y. Yang, T. G. Rose, F. Li. RCV1: a new benchmark collection for "
        "text categorization research. JMLR 5, 2004 (500-feature version: MEKA).",
    ),
    "bibtex": _mulan(
        "bibtex", 7395, 1836, 159, 2.402, 2856,
        citation="I. Katakis, G. Tsoumakas, I. Vlahavas. Multilabel text classification for "
        "automated tag suggestion. ECML/PKDD Discovery Challenge 2008.",
    ),
    "delicious": _mulan(
        "delicious", 16105, 500, 983, 19.020, 15806,
        citation="G. Tsoumakas, I. Katakis, I. Vlahavas. Effective and efficient multilabel "
        "classification in domains with large number of labels. MMD 2008.",
    ),
    "20ng": _mulan(
        "20ng", 19300, 1006, 20, 1.029, 55,
        citation="K. Lang. NewsWeeder: learning to filter netnews. ICML 1995 (multi-label "
        "version: MEKA).",
    ),
    "tmc2007-500": _mulan(
        "tmc2007-500", 28596, 500, 22, 2.158, 1341,
        citation="A. Srivastava, B. Zane-Ulman. Discovering recurring anomalies in text reports "
        "regarding complex space systems. IEEE Aerospace 2005.",
    ),
}  # fmt: skip
