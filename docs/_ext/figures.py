"""Figures of the gallery, cut to what they show."""

from __future__ import annotations

from typing import Any

from sphinx_gallery.scrapers import matplotlib_scraper


def tight(block: Any, block_vars: Any, gallery_conf: Any) -> str:
    """Save all open figures without margins."""
    return matplotlib_scraper(block, block_vars, gallery_conf, bbox_inches="tight")
