"""The way to torch, which the library works without."""

from __future__ import annotations

from typing import Any


def import_torch(who: str) -> Any:
    """The module torch, or an error that names the extra."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(f"{who} needs torch: pip install 'plurilabel[torch]'") from error
    return torch


def choose_device(torch: Any, device: str) -> Any:
    """The device of that name; "auto" is a CUDA device where there is one, else the CPU."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (AssertionError, RuntimeError) as error:
        reason = str(error).split("\n")[0]
        raise ValueError(
            f'device must be "auto" or a device that torch can use, got {device!r}: {reason}'
        ) from error
    return torch.device(device)
