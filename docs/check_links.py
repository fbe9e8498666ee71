"""Follow every link of the built site: pages, anchors and files must be there.

    python docs/check_links.py docs/_build/html

Links to other hosts are not followed; tests/test_docs.py knows which hosts are allowed.
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page, and the anchors that it offers."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note where a tag leads, and what it is called."""
        del tag
        for key, value in attrs:
            if value and key in ("href", "src"):
                self.links.append(value)
            elif value and key in ("id", "name"):
                self.anchors.add(value)


@cache
def page(path: Path) -> Page:
    return Page(path)


def broken(site: Path) -> list[str]:
    """What leads nowhere, as ``page: link``."""
    found = []
    for path in sorted(site.rglob("*.html")):
        for link in page(path).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            anchor = unquote(parts.fragment)
            missing = not target.is_file() or (
                anchor and target.suffix == ".html" and anchor not in page(target).anchors
            )
            if missing:
                found.append(f"{path.relative_to(site)}: {link}")
    return found


def main() -> None:
    site = Path(sys.argv[1])
    pages = sum(1 for _ in site.rglob("*.html"))
    if not pages:
        sys.exit(f"there is no site in {site}")
    found = broken(site)
    if found:
        sys.exit("\n".join(["links that lead nowhere:", *found]))
    print(f"{pages} pages, all links lead somewhere")


if __name__ == "__main__":
    main()
