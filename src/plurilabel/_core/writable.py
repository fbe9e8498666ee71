"""Whether files can be written, found out before the work whose result goes there."""

from __future__ import annotations

import tempfile
from pathlib import Path


def not_writable(folder: Path) -> str:
    """Why nothing can be written in a folder; of one that is to be made, its parent counts."""
    while not folder.exists() and folder.parent != folder:
        folder = folder.parent
    try:
        # a trial: permissions do not tell of full disks and file systems that are read-only
        with tempfile.TemporaryFile(dir=folder) as stream:
            stream.write(b"trial")
    except OSError as error:
        return str(error.strerror)
    return ""
