"""``plurilabel issues``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from plurilabel._core.words import counted, no_formula, shortened
from plurilabel.cli import _output as ui
from plurilabel.cli._data import data_options, read_learner, reader_options
from plurilabel.cli._progress import Steps


@click.command()
@click.argument("data", metavar="NAME|FILE...", nargs=-1, required=True)
@data_options
@click.option(
    "--learner", metavar="SPEC",
    help="A learner with probabilities; by default one logistic regression per label.",
)  # fmt: skip
@click.option("--cv", type=click.IntRange(2), default=5, help="Number of folds.")
@click.option(
    "--below", type=click.FloatRange(0, 1), default=0.5, metavar="QUALITY",
    help="Labels with a lower quality are issues.",
)  # fmt: skip
@click.option("--top", type=click.IntRange(1), default=20, help="Number of issues to print.")
@ui.file_option("-o", "--out", metavar="FILE.csv", help="Write all issues to a file.")
@ui.file_option("--report", metavar="FILE.html", help="Write a page to review the issues.")
@ui.seed_option
@ui.force_option
@ui.quiet_option
@ui.json_option
def issues(
    data: tuple[str, ...], learner: str | None, cv: int, below: float, top: int, out: Path | None,
    report: Path | None, random_state: int, force: bool, quiet: bool, as_json: bool,
    **reading: Any,
) -> None:  # fmt: skip
    """List tags that are probably wrong or missing.

    Each row is predicted by a model that was not fitted on it. The quality of a tag is its
    credibility as given; the most doubtful tags come first. Rows are counted from 0.

    \b
    Examples:
      plurilabel issues films.csv --labels tags
      plurilabel issues films.csv --labels tags -o issues.csv --report issues.html
    """
    for path, suffixes, option in ((out, (".csv",), "-o"), (report, (".html",), "--report")):
        if path is not None:
            ui.check_output(path, *data, suffixes=suffixes, option=option, force=force)
    if reading["soft"]:
        raise ui.UsageError("--soft is not available: probabilities cannot be right or wrong")
    given = reader_options(*data, **reading)
    chosen = None if learner is None else read_learner(learner)
    from plurilabel import evaluation
    from plurilabel._core.records import write_atomic
    from plurilabel.models import find_issues

    options: Any = {"learner": chosen, "cv": cv, "threshold": below, "random_state": random_state}
    steps = Steps(quiet=quiet, as_json=as_json)
    source: Any = data[0] if len(data) == 1 else list(data)
    found, rows = find_issues(source, **options, **given, progress=steps)
    frame = found.to_frame()
    frame["text"] = [rows[row] for row in found.rows.tolist()]
    if out is not None:
        with write_atomic(out) as stream:
            stream.write(frame.map(no_formula).to_csv(index=False).encode())
    if report is not None:
        texts = rows if any(rows) else None
        evaluation.write_issues_report(found, report, instances=texts)
    if as_json:
        ui.print_json({"issues": frame.to_dict("records")})
    else:
        wrong = int(found.given.sum())
        ui.say(
            f"{counted(len(found), 'issue')} among {found.shape[0] * found.shape[1]:,} labels: "
            f"{wrong:,} wrong, {len(found) - wrong:,} missing"
        )
        columns = ["row", "label", "issue", "quality", "score", "text"]
        lines = [
            [str(row), label, issue, f"{quality:.3f}", f"{score:.3f}", shortened(text, 60)]
            for row, label, issue, quality, score, text in frame[columns][:top].values.tolist()
        ]
        if lines:
            ui.print_table(columns, lines, texts=("label", "issue", "text"))
    for path in filter(None, (out, report)):
        ui.say(f"Wrote {path}", as_json=True)
