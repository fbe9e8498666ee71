"""The state that figures are of: date, commit and versions beside each file of results."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

from benchmarks import RESULTS

COLUMNS = ("file", "command", "date", "commit", "versions")


def commit() -> str:
    """The state of the code that is measured, with a plus where files differ from it."""
    describe = ["git", "describe", "--always", "--dirty=+"]
    try:
        here = subprocess.run(describe, cwd=RESULTS, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return here.stdout.strip()


def state() -> dict[str, Any]:
    """Today's date, the commit, and the versions of Python and what results depend on."""
    # nothing is imported: programs set the number of threads before numpy is loaded
    packages = ("numpy", "scipy", "scikit-learn")
    made_with = {"python": python_version(), **{name: version(name) for name in packages}}
    today = datetime.now(UTC).date().isoformat()
    return {"date": today, "commit": commit(), "versions": made_with}


@contextmanager
def stamped(command: str, folder: Path = RESULTS) -> Iterator[None]:
    """Write the state into states.csv, beside the name of each file that is written inside."""
    before, now, path = _written(folder), state(), folder / "states.csv"
    now["versions"] = ", ".join(f"{name} {number}" for name, number in now["versions"].items())
    now["command"] = f"python -m benchmarks {command}"
    try:
        yield
    finally:
        after = _written(folder)
        new = [{"file": name, **now} for name, when in after.items() if before.get(name) != when]
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        rows = {row["file"]: row for row in [*csv.DictReader(lines), *new]}
        if new:
            with path.open("w", newline="", encoding="utf-8") as stream:
                writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows[name] for name in sorted(rows) if name in after)


def _written(folder: Path) -> dict[str, int]:
    """When each file was written last."""
    files = (each for each in folder.iterdir() if each.is_file())
    return {each.name: each.stat().st_mtime_ns for each in files}
