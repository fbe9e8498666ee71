"""Read options of a command from TOML or from a model, and write them as TOML."""

from __future__ import annotations

import json
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from plurilabel._core.words import similar
from plurilabel.cli._output import UsageError, fail, no_file

LEFT_OUT = ("config", "save_config", "out", "force", "quiet", "as_json", "track", "report")
"""Options that do not affect the model."""


def config_option(command: Any) -> Any:
    """Add ``--config``, which sets defaults of other options, and ``--save-config``."""
    read = click.option(
        "--config", type=click.Path(path_type=Path), metavar="FILE", is_eager=True,
        expose_value=False, callback=_use,
        help="Read data and options from a .toml file, or from a model saved by fit. "
        "Command-line options take precedence.",
    )  # fmt: skip
    write = click.option(
        "--save-config",
        type=click.Path(path_type=Path),
        metavar="FILE.toml",
        help="Write data and options of this run to a file. The model stores them, too.",
    )
    return read(write(command))


def _use(ctx: click.Context, _: click.Parameter, path: Path | None) -> None:
    if path is None:
        return
    if not path.is_file():
        fail(no_file(path))
    try:
        is_model = path.suffix.lower() == ".skops"
        given = _from_model(path) if is_model else tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from None
    known = {_key(parameter): parameter for parameter in ctx.command.params}
    found = dict(ctx.default_map or {})
    for key, value in given.items():
        name = key.replace("-", "_")
        if name not in known or name in ("config", "save_config"):
            close = similar(name, list(known))
            hint = "" if close is None else f"; did you mean {close}?"
            raise UsageError(f"{path}: unknown option {key!r}{hint}")
        several = known[name].nargs == -1 or getattr(known[name], "multiple", False)
        found[str(known[name].name)] = [value] if several and isinstance(value, str) else value
    ctx.default_map = found


def _from_model(path: Path) -> dict[str, Any]:
    """The options stored in a model, which is not loaded."""
    try:
        with zipfile.ZipFile(path) as archive:
            about = json.loads(archive.read("plurilabel.json"))
        return dict(about["notes"]["options"])
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError):
        raise UsageError(f"{path} has no options: it was not saved by `plurilabel fit`") from None


def _key(parameter: click.Parameter) -> str:
    """The name of an option, such as ``time_limit`` or ``seed``."""
    longest = max(parameter.opts, key=len)
    return longest.lstrip("-").replace("-", "_")


def options_of(ctx: click.Context) -> dict[str, Any]:
    given = {}
    for parameter in ctx.command.params:
        name = str(parameter.name)
        source = ctx.get_parameter_source(name)
        if name in LEFT_OUT or source in (None, ParameterSource.DEFAULT) or name not in ctx.params:
            continue
        value = ctx.params[name]
        value = list(value) if isinstance(value, list | tuple) else value
        given[_key(parameter)] = str(value) if isinstance(value, Path) else value
    return given


def as_toml(options: dict[str, Any]) -> str:
    """Write options as TOML: strings, numbers, booleans and lists of strings."""
    # strings are the same in JSON and TOML, except for DEL
    lines = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in options.items())
    return "".join(f"{line}\n" for line in lines).replace("\x7f", "\\u007f")
