"""Look at the built site as a reader does: offline, on a phone, in search of a name.

    python docs/check_pages.py docs/_build/html

Nothing is loaded from other hosts, every page of the reference begins with a summary of its
names, and no page or table is wider than the window, on a phone or on a desk. The last needs
Chromium and is left out where there is none.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from functools import partial
from html import escape, unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LOADED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc(?:set)?\s*=\s*["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|preload|icon))[^>]*\bhref=["']?((?:https?:)?//[^"'\s>]+)"""
)
IMPORTED = re.compile(r"""(?:@import\s*|url\()\s*["']?((?:https?:)?//[^"')\s]+)""")
WIDTHS = (375, 1280)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
MEASURE = """
onload = () => {
  const wide = [];
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument, add = (width, room) => {
      if (width > room) wide.push([frame.dataset.page, room, width]);
    };
    add(page.documentElement.scrollWidth, frame.clientWidth);
    for (const table of page.querySelectorAll(".table-wrapper"))
      if (table.clientWidth) add(table.scrollWidth - 1, table.clientWidth);
  }
  document.title = JSON.stringify(wide);
};
"""


def from_elsewhere(site: Path) -> list[str]:
    """What pages and style sheets load from other hosts, as ``file: address``."""
    found = []
    for pattern, expression in (("*.html", LOADED), ("*.css", IMPORTED)):
        for path in sorted(site.rglob(pattern)):
            for groups in expression.finditer(path.read_text("utf-8")):
                address = next(group for group in groups.groups() if group)
                found.append(f"{path.relative_to(site)}: {address}")
    return found


def without_summary(site: Path) -> list[str]:
    """Pages of the reference that document names and have no table of them."""
    return [
        str(path.relative_to(site))
        for path in sorted((site / "api").glob("*.html"))
        if 'class="py ' in (text := path.read_text("utf-8"))
        and not re.search(r'<table class="[^"]*\bsummary\b', text)
    ]


class Quiet(SimpleHTTPRequestHandler):
    """A server that does not talk."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def too_wide(site: Path, browser: str) -> list[str]:
    """Pages and tables that are wider than the window, as ``page: pixels of pixels``.

    All pages are opened in frames of one page, which measures them when all are loaded.
    """
    names = [path.relative_to(site).as_posix() for path in sorted(site.rglob("*.html"))]
    frames = [
        f'<iframe src="/{escape(name)}" data-page="{escape(name)}" width="{width}" height="800">'
        "</iframe>"
        for width in WIDTHS
        for name in names
    ]
    page = f"<!doctype html><title></title><script>{MEASURE}</script>{''.join(frames)}"

    class Handler(Quiet):
        def do_GET(self) -> None:
            if self.path != "/?":
                return super().do_GET()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page.encode())
            return None

    address = ("127.0.0.1", 0)
    with (
        ThreadingHTTPServer(address, partial(Handler, directory=str(site))) as server,
        tempfile.TemporaryDirectory() as profile,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
        command += [f"--user-data-dir={profile}", f"http://127.0.0.1:{server.server_port}/?"]
        told = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
        server.shutdown()
    (title,) = re.findall(r"<title>(\[.*?\])</title>", told.stdout)
    return [f"{name}: {wide} of {width}" for name, width, wide in json.loads(unescape(title))]


def main() -> None:
    site = Path(sys.argv[1])
    found = {
        "loaded from elsewhere": from_elsewhere(site),
        "without a summary": without_summary(site),
    }
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser:
        found["wider than the window"] = too_wide(site, browser)
    if any(found.values()):
        sys.exit("\n".join(line for title, rows in found.items() for line in (f"{title}:", *rows)))
    seen = "all fit a phone" if browser else "no browser to measure their width"
    print(f"nothing is loaded from elsewhere, all references have a summary, {seen}")


if __name__ == "__main__":
    main()
