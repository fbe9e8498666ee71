"""Check that files can be written before computing what goes into them."""

from __future__ import annotations

import tempfile
from pathlib import Path


def not_writable(folder: Path) -> str:
    """Why no file can be written in a folder, or in its parent if it does not exist; or ""."""
    while not folder.exists() and folder.parent != folder:
        folder = folder.parent
    try:
        # permissions do not show full disks and read-only file systems
        with tempfile.TemporaryFile(dir=folder) as stream:
            stream.write(b"trial")
    except OSError as error:
        return str(error.strerror)
    return ""
