"""A runner of commands that keeps stdout and stderr apart."""

from inspect import signature

from click.testing import CliRunner

# click before 8.2 mixes stderr into stdout, unless it is told not to
SEPARATE = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}


def runner():
    return CliRunner(**SEPARATE)
