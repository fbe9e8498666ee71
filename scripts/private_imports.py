"""Fail where a package imports a private module of another package: ``make lint`` runs this."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

SRC = Path(__file__).parents[1] / "src" / "plurilabel"


def trespasses() -> list[str]:
    """Each import of ``plurilabel.other._private...``, with its place."""
    found = []
    for path in sorted(SRC.rglob("*.py")):
        own = path.relative_to(SRC).parts[0]
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                modules = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            else:
                continue
            for module in modules:
                root, _, inside = module.partition(".")
                package, _, rest = inside.partition(".")
                private = any(part.startswith("_") for part in rest.split("."))
                if root == "plurilabel" and package != own and private:
                    found.append(f"{path.relative_to(SRC.parent)}:{node.lineno}: {module}")
    return found


if __name__ == "__main__":
    if places := trespasses():
        sys.exit("private modules of another package are imported:\n" + "\n".join(places))
