"""The help of every command, in place of the marker of ``commands.md``."""

from __future__ import annotations

from typing import Any

import click
from sphinx.application import Sphinx

MARKER = "<!-- commands -->"


def helps() -> str:
    """A section for each command with what ``--help`` prints."""
    from plurilabel.cli._main import plurilabel

    settings = {**plurilabel.context_settings, "max_content_width": 84}
    parent = click.Context(plurilabel, info_name="plurilabel", **settings)
    parts = []
    for name in plurilabel.list_commands(parent):
        command = plurilabel.get_command(parent, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=parent, **settings)
        parts += [f"## plurilabel {name}", "", "```text", command.get_help(context), "```", ""]
    return "\n".join(parts)


def fill(_app: Sphinx, _docname: str, source: list[str]) -> None:
    """Write the commands where the page asks for them."""
    if MARKER in source[0]:
        source[0] = source[0].replace(MARKER, helps())


def setup(app: Sphinx) -> dict[str, Any]:
    """Fill pages as they are read."""
    app.connect("source-read", fill)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
