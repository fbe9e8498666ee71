"""The benchmarks page: Markdown with tables and plots, from the stored results."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness.measure import Row
from benchmarks.harness.plots import growth_plot, ratio_plot, share_plot

PLOTS = "_static/benchmarks"
TITLES = {
    "learners": "Learners compared with other libraries",
    "search": "Neighbor search",
    "lazy": "Lazy learners compared with the bare search",
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

Every figure is *the time of another library divided by ours*: 2 means that plurilabel is twice as
fast, **0.5** half as fast. Times are CPU seconds of one thread; ranges are over datasets or sizes,
always compared with the fastest library on each.
"""
METHOD = """
Two programs are measured in turns, so that other load on the machine affects both. The ratio is
computed within each turn; a figure such as 3.1 (2.9 to 3.4) is the median and the range over the
turns. Plots also show limits: a bare neighbor search, one sort of the scores, one pass over the
data. A limit of 0.9 means that nine tenths of our time are spent in the part that cannot be
avoided. Memory is the increase of a process that only fits and predicts. Quality is computed with
our measures for all libraries.
"""
DETAILS = """## Details

Measured by `make bench`, which writes `benchmarks/results/speed.json`. Click to open."""


def write_page(results: dict[str, Any], folder: Path) -> None:
    """Write ``benchmarks.md`` and its plots into a folder."""
    groups = results["groups"]
    parts = [HEAD, glance(groups), DETAILS]
    parts.append(folded("How it was measured", [METHOD, *surroundings(results)]))
    for name, title in TITLES.items():
        if name == "learners" and "rows" in groups.get(name, {}):
            parts += learner_sections(groups[name], folder)
        elif name in groups:
            parts.append(section(name, title, groups[name], folder))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "benchmarks.md").write_text("\n".join(part.strip() + "\n" for part in parts))


def folded(title: str, lines: Sequence[str]) -> str:
    """A part of the page that opens on click."""
    fence = "::::"
    return "\n".join(
        [f"{fence}{{dropdown}} {title}", ":class-container: figures", "", *lines, fence]
    )


def surroundings(results: dict[str, Any]) -> list[str]:
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
        "**The other libraries** have their own environments:",
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
            "As shipped, the nearest neighbor learners of scikit-multilearn 0.2.0 stop with "
            f"`{row['note']}`: they pass the number of neighbors by position, which scikit-learn "
            "has rejected since version 1.0. For these figures, it is passed by name; nothing "
            "else in the package is changed.",
        ]
    return lines


def glance(groups: dict[str, Any]) -> str:
    """The range over the datasets for each task, compared with the fastest library on each."""
    found: dict[str, list[Row]] = {}
    for name, title in TITLES.items():
        for row in groups.get(name, {}).get("rows", ()):
            if row["kind"] == "peer":
                found.setdefault(row.get("task", title), []).append(row)
    lines = ["## At a glance", "", ":::{table}", ":class: glance", ""]
    lines += table_head("lrrl", "", "fit or call", "predict", "peers")
    for title, rows in found.items():
        spans = [
            _span([ratio for step in steps for ratio in _quickest(rows, step)])
            for steps in (("fit", ""), ("predict",))
        ]
        peers = ", ".join(sorted({re.split(", | to ", row["peer"])[0] for row in rows}))
        both = "scikit-multilearn, scikit-multilearn-ng"
        peers = peers.replace(both, "scikit-multilearn and -ng")
        lines.append(table_row(title, *spans, peers))
    return "\n".join([*lines, ":::"])


def _quickest(rows: Sequence[Row], step: str) -> list[float]:
    """The lowest ratio of a step on each dataset; the step "" is a call without steps."""
    lowest: dict[str, float] = {}
    for row in rows:
        ratio = (row.get(step) or {}).get("ratio") if step else row.get("ratio")
        if ratio is not None:
            lowest[row["what"]] = min(ratio, lowest.get(row["what"], ratio))
    return list(lowest.values())


def learner_sections(group: dict[str, Any], folder: Path) -> list[str]:
    """A folded part for each task, and one for missing results."""
    parts = [
        f"### {TITLES['learners']}",
        folded("How they were compared", [inspect.cleandoc(group["about"])]),
    ]
    tasks: dict[str, list[Row]] = {}
    for row in group["rows"]:
        if row["kind"] != "left out":
            tasks.setdefault(row["task"], []).append(row)
    for task, rows in tasks.items():
        name = "learners-" + re.sub(r"\W+", "-", task.lower())
        shown = [{**row, "what": row["data"]} for row in rows]
        parts.append(folded(task, [*plot(name, task, ratio_plot, shown, folder),
                                   *learner_tables(rows)]))  # fmt: skip
    missing = [
        f"- {row['what']}, {row['peer']}: `{row['note']}`"
        for row in group["rows"]
        if row["kind"] == "left out" and row["what"] != "ML-kNN as shipped"
    ]
    if missing:
        parts.append(folded("Left out", missing))
    return [*parts, "### Parts of the library"]


def section(name: str, title: str, group: dict[str, Any], folder: Path) -> str:
    lines = [inspect.cleandoc(group["about"]), ""]
    if "error" in group:
        return folded(title, [*lines, f"This group stopped: `{group['error']}`"])
    draw = {"growth": growth_plot, "profiles": share_plot}.get(name, ratio_plot)
    lines += plot(name, title, draw, group["rows"], folder)
    tables = {"growth": growth_tables, "profiles": share_table}
    return folded(title, [*lines, *tables.get(name, ratio_table)(group["rows"])])


def plot(name: str, title: str, draw: Any, rows: Sequence[Row], folder: Path) -> list[str]:
    """The lines that show a plot, if there is one."""
    if not draw(rows, folder / PLOTS / f"{name}.svg"):
        return []
    return [f"![{title}: {ALT[draw]}]({PLOTS}/{name}.svg)", ""]


ALT = {
    ratio_plot: "time of other libraries divided by ours, on a logarithmic scale",
    growth_plot: "seconds of a fit against the size, both on logarithmic scales",
    share_plot: "share of the time spent in the call that cannot be avoided",
}


# tables --------------------------------------------------------------------------------------


def ratio_table(rows: Sequence[Row]) -> list[str]:
    lines = table_head("llrrrl", "what", "compared with", "ours", "theirs", "theirs / ours", "")
    told = ""
    for row in rows:
        steps = {step: row[step] for step in ("fit", "predict") if step in row}
        peer = f"limit: {row['peer']}" if row["kind"] == "limit" else row["peer"] or ""
        for step, found in (steps or {"": row}).items():
            what = f"{row['what']}, {step}" if step else row["what"]
            shown, told = "" if what == told else what, what
            lines.append(
                table_row(shown, peer, seconds(found.get("ours_s")), seconds(found.get("peer_s")),
                          ratio(found), row.get("note", ""))
            )  # fmt: skip
    return lines


def learner_tables(rows: Sequence[Row]) -> list[str]:
    """Time, memory and quality on each dataset, which is named in its first row."""
    lines = ["**Time and memory**", ""]
    lines += table_head("llrrrrrr", "data", "compared with", "fit", "theirs / ours", "predict",
                        "theirs / ours", "MB", "theirs")  # fmt: skip
    told = ""
    for row in rows:
        peer = f"limit: {row['peer']}" if row["kind"] == "limit" else row["peer"]
        data, told = "" if row["data"] == told else row["data"], row["data"]
        lines.append(
            table_row(data, peer, seconds(row["fit"]["ours_s"]), ratio(row["fit"]),
                      seconds(row["predict"]["ours_s"]), ratio(row["predict"]),
                      *(f"{mb:.0f}" for mb in row["memory_mb"]))
        )  # fmt: skip
    lines += ["", "**Quality.** Measures of scores are empty where a package has no scores.", ""]
    lines += table_head("ll" + "r" * len(QUALITY), "data", "package", *QUALITY.values())
    seen, told = set(), ""
    for row in rows:
        if row["kind"] != "peer":
            continue
        for package, found in zip(("plurilabel", row["peer"]), row["quality"]):
            if (row["data"], package) not in seen:
                seen.add((row["data"], package))
                cells = [f"{found[m]:.4f}" if found.get(m) is not None else "" for m in QUALITY]
                data, told = "" if row["data"] == told else row["data"], row["data"]
                lines.append(table_row(data, package, *cells))
    return lines


def growth_tables(rows: Sequence[Row]) -> list[str]:
    lines = []
    for step, title in (("fit", "Exponents of fit"), ("predict", "Exponents of predict")):
        lines += [f"**{title}**", "", *table_head("lrrrr", "learner", "n", "d", "q", "k")]
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
    lines = table_head("lllrr", "learner", "data", "call", "fit and predict", "share of the call")
    for row in rows:
        lines.append(
            table_row(row["what"], row["data"], row["peer"], seconds(row["ours_s"]),
                      f"{row['ratio']:.0%} ({row['low']:.0%} to {row['high']:.0%})")
        )  # fmt: skip
    return lines


def table_head(places: str, *names: str) -> list[str]:
    """The first two lines; ``places`` has an l (text) or r (numbers) for each column."""
    assert len(places) == len(names)
    return [table_row(*names), table_row(*("---:" if p == "r" else "---" for p in places))]


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
    """The range of some ratios, in bold if all others are faster."""
    if not values:
        return ""
    low, high = _short(min(values)), _short(max(values))
    span = low if low == high else f"{low} to {high}"
    return f"**{span}**" if max(values) < 1 else span


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value < 1 else f"{value:.3g}"
