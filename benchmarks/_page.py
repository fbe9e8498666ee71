"""The page: Markdown with tables and plots, from the stored results alone."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks._measure import Row
from benchmarks._plots import growth_plot, ratio_plot, share_plot

PLOTS = "_static/benchmarks"
TITLES = {
    "learners": "Learners beside the peers",
    "search": "Neighbour search",
    "lazy": "Lazy learners beside the bare search",
    "transformation": "Problem transformations",
    "adaptation": "Trees, CML and Rank-SVM",
    "boosting": "Boosting",
    "neural": "Neural networks",
    "metrics": "Measures",
    "thresholds": "Thresholds",
    "streams": "Streams",
    "split": "Stratified folds",
    "files": "Reading files",
    "generate": "Generators and descriptions",
    "growth": "Growth",
    "profiles": "Where the time goes",
}
QUALITY = {
    "hamming_loss": "Hamming loss",
    "subset_accuracy": "subset accuracy",
    "micro_f1": "micro F1",
    "ranking_loss": "ranking loss",
    "average_precision": "average precision",
    "macro_auc": "macro AUC",
}
HEAD = """# Benchmarks

Made from `benchmarks/results.json`, which `make bench` writes.

**How to read it.** Times are CPU seconds of one thread, for every package. Two things are measured
in turns, so that what slows one slows the other; the ratio is taken within each turn, and a figure
such as 3.1 (2.9 to 3.4) is the median and the range over the turns. The ratio is always *the
other's time over ours*: above 1 the other takes longer, below 1 it is quicker. Limits stand in the
same plots: a bare neighbour search, one sort of the scores, one pass over the data. A limit at 0.9
means that nine tenths of our time are the part that nothing can save. Memory is what a process
that does only this job adds while it fits and predicts. Quality is computed with our measures for
everyone.
"""


def write_page(results: dict[str, Any], folder: Path) -> None:
    """Write ``benchmarks.md`` and its plots into a folder."""
    parts = [HEAD, surroundings(results)]
    if "rows" in results["groups"].get("learners", {}):
        parts.append(glance(results["groups"]["learners"]["rows"]))
    for name, title in TITLES.items():
        if name in results["groups"]:
            parts.append(section(name, title, results["groups"][name], folder))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "benchmarks.md").write_text("\n".join(part.strip() + "\n" for part in parts))


def surroundings(results: dict[str, Any]) -> str:
    machine = results["machine"]
    dates = sorted({group["date"] for group in results["groups"].values()})
    when = " to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else ""
    commits = dict.fromkeys(group.get("commit", "") for group in results["groups"].values())
    state = "".join(f", commit {name}" for name in commits if name)
    versions = ", ".join(f"{name} {v}" for name, v in results["versions"].items())
    lines = [
        f"**Measured** {when}{state} on {machine['processor']}, {machine['cores']} cores, "
        f"Python {results['python']}, {versions}."
        + (" These are the tiny sizes of `--quick`." if results["quick"] else ""),
        "",
        *(text for remark in results.get("remarks", ()) for text in (remark, "")),
        "**The peers** live in environments of their own:",
        "",
    ]
    for name, found in results["peers"].items():
        described = ", ".join(f"{package} {v}" for package, v in found.items())
        lines.append(f"- `.venv-bench-{name}`: {described}")
    shipped = [
        row
        for row in results["groups"].get("learners", {}).get("rows", [])
        if row["what"] == "ML-kNN as shipped"
    ]
    for row in shipped:
        lines += [
            "",
            "As shipped, the neighbour learners of scikit-multilearn 0.2.0 stop with "
            f"`{row['note']}`: they give the number of neighbours by position, which scikit-learn "
            "has refused since version 1.0. For these figures that one call is passed on by name; "
            "nothing else of the package is changed.",
        ]
    return "\n".join(lines)


def glance(rows: Sequence[Row]) -> str:
    """The range over the datasets, for each task and peer."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["kind"] == "peer":
            found.setdefault((row["task"], row["peer"]), []).append(row)
    lines = [
        "## At a glance",
        "",
        "The medians on each dataset, lowest to highest; above 1 the peer takes longer.",
        "",
        *table_head("task", "peer", "datasets", "fit, peer / ours", "predict, peer / ours",
                    "memory, peer / ours"),
    ]  # fmt: skip
    for (task, peer), group in found.items():
        spans = [_span([row[step]["ratio"] for row in group]) for step in ("fit", "predict")]
        memory = _span([row["memory_mb"][1] / max(row["memory_mb"][0], 0.1) for row in group])
        lines.append(table_row(task, peer, len(group), *spans, memory))
    return "\n".join(lines)


def section(name: str, title: str, group: dict[str, Any], folder: Path) -> str:
    lines = [f"## {title}", "", inspect.cleandoc(group["about"]), ""]
    if "error" in group:
        return "\n".join([*lines, f"This group stopped: `{group['error']}`"])
    draw = {"growth": growth_plot, "profiles": share_plot}.get(name, ratio_plot)
    if draw(group["rows"], folder / PLOTS / f"{name}.svg"):
        lines += [f"![{title}: {ALT[draw]}]({PLOTS}/{name}.svg)", ""]
    tables = {"growth": growth_tables, "profiles": share_table, "learners": learner_tables}
    return "\n".join([*lines, *tables.get(name, ratio_table)(group["rows"])])


ALT = {
    ratio_plot: "time of the others over ours, on a logarithmic scale",
    growth_plot: "seconds of a fit over the size, both on logarithmic scales",
    share_plot: "share of the time inside the call that cannot be avoided",
}


# tables --------------------------------------------------------------------------------------


def ratio_table(rows: Sequence[Row]) -> list[str]:
    lines = table_head("what", "beside", "ours", "theirs", "theirs / ours", "")
    for row in rows:
        steps = {step: row[step] for step in ("fit", "predict") if step in row}
        peer = f"limit: {row['peer']}" if row["kind"] == "limit" else row["peer"] or ""
        for step, found in (steps or {"": row}).items():
            what = f"{row['what']}, {step}" if step else row["what"]
            lines.append(
                table_row(what, peer, seconds(found.get("ours_s")), seconds(found.get("peer_s")),
                          ratio(found), row.get("note", ""))
            )  # fmt: skip
    return lines


def learner_tables(rows: Sequence[Row]) -> list[str]:
    lines = ["### Time and memory", ""]
    lines += table_head(
        "task and data",
        "beside",
        "fit, ours",
        "fit, theirs / ours",
        "predict, ours",
        "predict, theirs / ours",
        "MB, ours",
        "MB, theirs",
    )
    missing = []
    for row in rows:
        if row["kind"] == "left out":
            missing.append(row)
            continue
        peer = f"limit: {row['peer']}" if row["kind"] == "limit" else row["peer"]
        lines.append(
            table_row(row["what"], peer, seconds(row["fit"]["ours_s"]), ratio(row["fit"]),
                      seconds(row["predict"]["ours_s"]), ratio(row["predict"]),
                      *(f"{mb:.0f}" for mb in row["memory_mb"]))
        )  # fmt: skip
    lines += [
        "",
        "### Quality",
        "",
        "Measures that need scores are empty where a package has none.",
    ]
    lines += ["", *table_head("task and data", "package", *QUALITY.values())]
    told = set()
    for row in rows:
        if row["kind"] != "peer":
            continue
        for package, found in zip(("plurilabel", row["peer"]), row["quality"]):
            if (row["what"], package) not in told:
                told.add((row["what"], package))
                cells = [f"{found[m]:.4f}" if found.get(m) is not None else "" for m in QUALITY]
                lines.append(table_row(row["what"], package, *cells))
    missing = [row for row in missing if row["what"] != "ML-kNN as shipped"]
    if missing:
        lines += ["", "### Left out", ""]
        lines += [f"- {row['what']}, {row['peer']}: `{row['note']}`" for row in missing]
    return lines


def growth_tables(rows: Sequence[Row]) -> list[str]:
    lines = []
    for step, title in (("fit", "Exponents of fit"), ("predict", "Exponents of predict")):
        lines += [f"### {title}", "", *table_head("learner", "n", "d", "q", "k")]
        found = {(r["what"], r["axis"]): r for r in rows if r["step"] == step}
        for name in dict.fromkeys(what for what, _ in found):
            cells = [
                f"{r['exponent']:.2f} ({r['low']:.2f} to {r['high']:.2f})" if r else ""
                for r in (found.get((name, axis)) for axis in "ndqk")
            ]
            lines.append(table_row(name, *cells))
        lines.append("")
    return lines


def share_table(rows: Sequence[Row]) -> list[str]:
    lines = table_head("learner", "data", "call", "fit and predict", "share of the call")
    for row in rows:
        lines.append(
            table_row(row["what"], row["data"], row["peer"], seconds(row["ours_s"]),
                      f"{row['ratio']:.0%} ({row['low']:.0%} to {row['high']:.0%})")
        )  # fmt: skip
    return lines


def table_head(*names: str) -> list[str]:
    return [table_row(*names), table_row(*["---"] * len(names))]


def table_row(*cells: Any) -> str:
    return "| " + " | ".join(str(cell).replace("|", r"\|") for cell in cells) + " |"


def seconds(value: float | None) -> str:
    if value is None:
        return ""
    return f"{1000 * value:.3g} ms" if value < 0.9995 else f"{value:.3g} s"


def ratio(found: dict[str, Any]) -> str:
    if found.get("ratio") is None:
        return ""
    return f"{_short(found['ratio'])} ({_short(found['low'])} to {_short(found['high'])})"


def _span(values: Sequence[float]) -> str:
    low, high = _short(min(values)), _short(max(values))
    return low if low == high else f"{low} to {high}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value < 1 else f"{value:.3g}"
