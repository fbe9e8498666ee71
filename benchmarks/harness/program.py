"""The program: runs the groups, stores what they found as it goes, and writes the page."""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import platform
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import RESULTS
from benchmarks.harness.page import write_page
from benchmarks.harness.peers import versions_of_peers
from benchmarks.harness.state import commit
from plurilabel._core.records import write_atomic

GROUPS = (
    "learners",
    "search",
    "lazy",
    "transformation",
    "adaptation",
    "boosting",
    "neural",
    "metrics",
    "thresholds",
    "split",
    "streams",
    "files",
    "generate",
    "growth",
    "profiles",
)
FORMAT = 1


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    out = options.out or (Path("out/benchmarks") if options.quick else RESULTS)
    results = out / "speed.json"
    if options.render:
        write_page(json.loads(results.read_text()), options.page or out)
        return
    unknown = set(options.names) - set(GROUPS)
    if unknown:
        sys.exit(f"no group {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}")
    warnings.simplefilter("ignore")  # of solvers that stop early, on purpose, for every package
    stored = _stored(results, options) or _new(options.quick)
    results.parent.mkdir(parents=True, exist_ok=True)
    for name in options.names or GROUPS:
        if options.resume and "rows" in stored["groups"].get(name, {}):
            continue
        print(f"== {name}", flush=True)
        stored["groups"][name] = _run(name, options.quick)
        _print(stored["groups"][name])
        stored = _rounded(stored)
        with write_atomic(results) as stream:
            stream.write(compact(stored).encode())
    print(f"Wrote {results}; the page is made with the site, by `make docs`")
    if options.page:
        write_page(stored, options.page)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks speed", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="group", help=", ".join(GROUPS))
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does everything run?")
    parser.add_argument("--resume", action="store_true", help="keep the groups that are stored")
    parser.add_argument("--render", action="store_true", help="only write the page again")
    parser.add_argument("--out", type=Path, help="folder of speed.json")
    parser.add_argument("--page", type=Path, help="write benchmarks.md and its plots there")
    return parser


def _stored(results: Path, options: argparse.Namespace) -> dict[str, Any] | None:
    """Earlier results, if only some groups are to be measured again."""
    if not (options.resume or options.names) or not results.exists():
        return None
    stored = json.loads(results.read_text())
    return stored if stored["format"] == FORMAT and stored["quick"] == options.quick else None


def _new(quick: bool) -> dict[str, Any]:
    return {"format": FORMAT, "quick": quick, **surroundings(), "groups": {}}


def surroundings() -> dict[str, Any]:
    """When, where and with what this was measured."""
    packages = ("numpy", "scipy", "scikit-learn")
    return {
        "machine": {"processor": _processor(), "cores": os.cpu_count()},
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages} | _optional(),
        "peers": versions_of_peers(),
    }


def _optional() -> dict[str, str]:
    found = {}
    for name in ("torch", "liac-arff", "iterative-stratification"):
        try:
            found[name] = version(name)
        except ImportError:
            continue
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _run(name: str, quick: bool) -> dict[str, Any]:
    start = time.monotonic()
    module = importlib.import_module(f"benchmarks.speed.{name}")
    found: dict[str, Any] = {
        "about": module.__doc__,
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
    }
    try:
        found["rows"] = module.run(quick)
    except Exception as error:  # the other groups are worth their figures all the same
        traceback.print_exc()
        found["error"] = f"{type(error).__name__}: {error}"
    return {**found, "wall_s": time.monotonic() - start}


def _print(group: dict[str, Any]) -> None:
    for row in group.get("rows", []):
        steps = {step: row[step] for step in ("fit", "predict") if step in row}
        for step, found in (steps or {"": row}).items():
            name = f"{row['what']} {row.get('axis', '')} {row.get('step', step)}".strip()
            figures = {k: found[k] for k in ("ratio", "exponent") if k in found}
            spread = f" ({found['low']:.3g} to {found['high']:.3g})" if figures else ""
            for value in figures.values():
                name += f" | {row.get('peer', '')} | {value:.3g}{spread}"
            note = row.get("note", "")
            print(name, f"| {note}" if note else "", flush=True)
    print(f"   {group['wall_s']:.0f} s {group.get('error', '')}", flush=True)


def compact(stored: dict[str, Any]) -> str:
    """The results as JSON with a line for each row, so that a change shows as such."""
    groups = []
    for name, group in stored["groups"].items():
        rows = ",\n".join(json.dumps(row) for row in group.get("rows", ()))
        facts = json.dumps({key: value for key, value in group.items() if key != "rows"})
        content = f'{facts[:-1]}, "rows": [\n{rows}\n]}}' if "rows" in group else facts
        groups.append(f"{json.dumps(name)}: {content}")
    facts = json.dumps({key: value for key, value in stored.items() if key != "groups"})
    return f'{facts[:-1]},\n"groups": {{\n' + ",\n".join(groups) + "\n}}\n"


def _rounded(value: Any) -> Any:
    """Four digits are more than the clock knows."""
    if isinstance(value, float):
        return float(f"{value:.4g}") if value == value else None
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    return value
