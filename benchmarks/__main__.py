"""Run what a page shows: ``python -m benchmarks NAME ...``; without a name, the list.

Date, commit and versions are written into results/states.csv, beside the files that a run writes.
"""

import os
import runpy
import subprocess
import sys
from pathlib import Path

from benchmarks.harness.threads import ONE_THREAD

PAGES = Path(__file__).parent / "pages"


def first_line(path: Path) -> str:
    """The first line of a program's docstring."""
    return path.read_text("utf-8").partition("\n")[0].strip('"')


def programs() -> dict[str, str]:
    """The commands, each with a description."""
    pages = {path.stem: first_line(path) for path in sorted(PAGES.glob("[a-z]*.py"))}
    return {
        "all": "All programs below, one after the other: hours.",
        "speed": "Speed compared with other libraries: the benchmarks page.",
        "reproduce": "Repeat the published tables of the papers: the reproduction page.",
        **pages,
    }


def main() -> None:
    """Run the named program with the remaining arguments."""
    names = programs()
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in names:
        lines = [f"  {name:28}{what}" for name, what in names.items()]
        sys.exit("\n".join(["usage: python -m benchmarks NAME ...", "", *lines]))
    if name == "all":
        failed = [each for each in names if each != "all" and _fails(each)]
        sys.exit(f"failed: {', '.join(failed)}" if failed else None)
    if name == "speed":
        os.environ.update(ONE_THREAD)  # before numpy is loaded
    from benchmarks.harness.state import stamped

    command = " ".join(sys.argv[1:])
    del sys.argv[1]
    with stamped(command):
        if name == "speed":
            from benchmarks.harness.program import main as measure_speed

            measure_speed()
        elif name == "reproduce":
            from benchmarks.papers.program import main as reproduce

            reproduce(prog_name="python -m benchmarks reproduce")
        else:
            runpy.run_module(f"benchmarks.pages.{name}", run_name="__main__", alter_sys=True)


def _fails(name: str) -> bool:
    return subprocess.run([sys.executable, "-m", "benchmarks", name], check=False).returncode != 0


if __name__ == "__main__":
    main()
