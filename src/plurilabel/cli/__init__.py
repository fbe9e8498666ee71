"""The command line: ``plurilabel --help``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or explain how to install it."""
    try:
        from plurilabel.cli._main import plurilabel
    except ImportError as error:
        if error.name not in {"click", "rich"}:
            raise
        sys.exit(f"plurilabel: {error.name} is missing; try: pip install 'plurilabel[cli]'")
    plurilabel()
