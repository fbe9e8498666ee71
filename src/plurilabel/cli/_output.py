"""Files that the commands write: what is refused before any work is done, and their size."""

from __future__ import annotations

from pathlib import Path

from plurilabel.cli._common import UsageError

MODELS = (".skops",)


def check_output(
    out: Path, *inputs: str, suffixes: tuple[str, ...] = MODELS, option: str = "-o"
) -> None:
    """Refuse an output that cannot be written or is an input."""
    if not out.name.lower().endswith(suffixes):
        plain = [suffix for suffix in suffixes if not suffix.endswith(".gz")]
        either = " or ".join(filter(None, (", ".join(plain[:-1]), plain[-1])))
        raise UsageError(f"{option} must name a file that ends in {either}, got {out}")
    if out.is_dir() or not out.parent.is_dir():
        what = "is a folder" if out.is_dir() else f"has no folder {out.parent} to be in"
        raise UsageError(f"{option} {out} {what}")
    for path in inputs:
        if Path(path).exists() and out.exists() and out.samefile(path):
            raise UsageError(f"{option} {out} would overwrite the input; choose another name")


def size_of(path: Path) -> str:
    """Size of a file, for a reader."""
    size = float(path.stat().st_size)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if size >= 10 or unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
