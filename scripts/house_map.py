"""The map of the library, made from the docstrings of its packages and the roster.

``python scripts/house_map.py`` writes it into README.md; a test fails where README.md differs. The
floors are those of the contract in pyproject.toml.
"""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "plurilabel"


def floors() -> list[list[str]]:
    """The packages of each floor, the ground floor first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (contract,) = settings["tool"]["importlinter"]["contracts"]
    return [[name.strip() for name in layer.split(":")] for layer in contract["layers"]][::-1]


def summary(package: str) -> str:
    """The first sentence of a package's docstring, read without importing it."""
    source = SRC.joinpath(*package.split("."), "__init__.py").read_text("utf-8")
    text = ast.get_docstring(ast.parse(source))
    if not text:
        raise ValueError(f"plurilabel.{package} has no docstring")
    return " ".join(text.partition("\n\n")[0].split()).rstrip(".")


def map_table(link: str = "`{0}`") -> str:
    """The map as a table: a row for each package, the top floor first."""
    rows = ["| floor | package | what is in it |", "| ---: | --- | --- |"]
    for number, packages in reversed(list(enumerate(floors(), 1))):
        for i, name in enumerate(packages):
            told = summary(name).replace("``", "`")
            shown = (
                link.format(name) if not name.startswith("_") and name != "cli" else f"`{name}`"
            )
            rows.append(f"| {number if i == 0 else ''} | {shown} | {told} |")
    return "\n".join(rows)


def learner_table() -> str:
    """The learners of the roster, a row for each family."""
    from plurilabel._core.roster import FAMILIES, learners

    rows = ["| family | learners |", "| --- | --- |"]
    for family in FAMILIES:
        names = [f"`{name}`" for name, entry in learners().items() if entry.package == family]
        rows.append(f"| {summary(family).partition(':')[0]} | {', '.join(names)} |")
    return "\n".join(rows)


def package_table() -> str:
    """The packages that users import from, the way that data take first."""
    names = [name for floor in floors() for name in floor if not name.startswith("_")]
    rows = [f"| `plurilabel.{name}` | {summary(name).replace('``', '`')} |" for name in names]
    return "\n".join(["| package | what is in it |", "| --- | --- |", *rows])


def with_tables(text: str) -> str:
    """A page with each table between its marks."""
    for name, table in {"learners": learner_table(), "packages": package_table()}.items():
        start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, rest = text.split(start)
        text = f"{before}{start}\n{table}\n\n{end}{rest.split(end)[1]}"
    return text


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(with_tables(readme.read_text("utf-8")), "utf-8")
