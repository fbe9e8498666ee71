"""Find wrong and missing labels in a table by cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plurilabel import metrics
from plurilabel._core.compat import safe_indexing
from plurilabel._core.unknown import known_part
from plurilabel.inspection import LabelIssues, find_label_issues
from plurilabel.io.shared import imputer
from plurilabel.learners import make_learner, set_seeds
from plurilabel.learners.transformation import BinaryRelevance
from plurilabel.model_selection.shared import splits_by
from plurilabel.models._model_rows import row_texts
from plurilabel.models._train import Training
from plurilabel.models._train_events import Progress
from plurilabel.models._train_search import fitted


def find_issues(
    data: Any,
    labels: Any = None,
    *,
    learner: str | Any = None,
    cv: int = 5,
    threshold: float = 0.5,
    text: Any = None,
    categorical: Any = None,
    words: Any = None,
    group: Any = None,
    random_state: int = 0,
    progress: Progress | None = None,
    **reading: Any,
) -> tuple[LabelIssues, list[str]]:
    """Find labels of a table that are probably wrong or missing.

    Each row is predicted by a learner that was not fitted on it; see
    :func:`plurilabel.inspection.find_label_issues`.

    Parameters
    ----------
    data, labels, text, categorical, words, group, random_state, progress, **reading
        As for :func:`train`.
    learner : str or estimator, default=None
        Must have ``predict_proba``. By default logistic regressions on scaled features.
    cv : int, default=5
        Number of stratified folds.
    threshold : float, default=0.5
        Labels with a lower quality are issues.

    Returns
    -------
    issues : LabelIssues
        The most doubtful first.
    instances : list of str
        The rows as text.

    See Also
    --------
    plurilabel.evaluation.write_issues_report : A page to review the issues.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from plurilabel.models import find_issues
    >>> rng = np.random.default_rng(0)
    >>> films = pd.DataFrame(rng.uniform(size=(200, 2)), columns=["length", "age"])
    >>> films["long"], films["old"] = films["length"] > 0.5, films["age"] > 0.5
    >>> films.loc[films["length"].idxmax(), "long"] = False
    >>> issues, rows = find_issues(films, ["long", "old"])
    >>> issues.to_frame()[["label", "issue"]].values[0].tolist(), rows[issues.rows[0]]
    (['long', 'missing'], 'length 0.9972, age 0.9808')
    """
    if reading.get("time") is not None:
        raise ValueError("time= is not supported, since it would change the row numbers")
    kinds = {"text": text, "categorical": categorical}
    progress = progress or (lambda _: None)
    run = Training(progress, random_state, (group, None), words, kinds, reading)
    run.read(data, labels)
    run.split()
    given = make_learner(learner) if isinstance(learner, str) else learner
    if given is None:
        given = BinaryRelevance(LogisticRegression(max_iter=1000))
        numbers = make_pipeline(imputer(), StandardScaler(with_mean=not run.is_sparse))
        run.estimator = make_pipeline(run.encoder(numbers) or numbers, given)
    else:
        run.prepare(clone(given))
    set_seeds(run.estimator, random_state)
    X, Y, q = run.X, run.Y, run.Y.shape[1]
    scores = np.tile(np.asarray(known_part(Y)[0].mean(axis=0)).ravel(), (Y.shape[0], 1))
    splits = splits_by(cv, X, Y, groups=run.groups)
    with run.step(f"Fitting in {len(splits)} folds"):
        for train, test in splits:
            model = fitted(clone(run.estimator), safe_indexing(X, train), Y[train])
            rows = safe_indexing(X, test)
            scores[test] = metrics.label_scores(model, rows, n_labels=q)
    found = find_label_issues(
        Y, scores, threshold=threshold, label_names=list(run.data.label_names)
    )
    return found, row_texts(run.data.X, run.texts) or [""] * Y.shape[0]
