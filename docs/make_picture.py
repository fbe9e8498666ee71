"""Make docs/_static/why.png, the picture of the README, from the example that draws it.

python docs/make_picture.py
"""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent


def main() -> None:
    plt.show = lambda: None  # what the example shows stays open
    runpy.run_path(str(HERE.parent / "examples" / "plot_why_this_label.py"))
    out = HERE / "_static" / "why.png"
    # a palette instead of full colour: a quarter of the size
    plt.gcf().savefig(out, dpi=110)
    from PIL import Image  # comes with matplotlib

    Image.open(out).convert("RGB").quantize(64).save(out, optimize=True)
    print(f"Wrote {out}, {out.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
