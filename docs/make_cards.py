"""Draw the table of the home page, and a small picture for each guide.

    python docs/make_cards.py

The pictures of the guides have colours that suit both themes. The table shows rows and
probabilities that the code of the home page gives.
"""

from __future__ import annotations

import math
import os
import re
import tempfile
from pathlib import Path
from typing import Any

OUT = Path(__file__).parent / "_static" / "guides"
BLUE, ORANGE, GREEN, GREY = "#3d8fd1", "#e8833a", "#2fa57f", "#8b949e"
COLOURS = (BLUE, ORANGE, GREEN)


def box(x: float, y: float, width: float, height: float, fill: str = GREY, **style: object) -> str:
    return shape("rect", x=x, y=y, width=width, height=height, fill=fill, **{"rx": 3, **style})


def dot(x: float, y: float, r: float = 4, fill: str = GREY, **style: object) -> str:
    return shape("circle", cx=x, cy=y, r=r, fill=fill, **style)


def line(*points: tuple[float, float], colour: str = GREY, **style: object) -> str:
    d = "M" + " L".join(f"{x:g},{y:g}" for x, y in points)
    return path(d, colour, **style)


def path(d: str, colour: str = GREY, **style: object) -> str:
    given = {"fill": "none", "stroke": colour, "stroke_width": 2.5, "stroke_linecap": "round"}
    return shape("path", d=d, **{**given, **style})


def word(
    x: float, y: float, text: str, fill: str = GREY, size: float = 13, **style: object
) -> str:
    given = {"font_family": "system-ui, sans-serif", "font_size": size, "text_anchor": "middle"}
    return shape("text", text, x=x, y=y, fill=fill, **{**given, **style})


def shape(kind: str, inside: str = "", **style: object) -> str:
    told = " ".join(
        f'{name.replace("_", "-")}="{value:g}"'
        if isinstance(value, float)
        else f'{name.replace("_", "-")}="{value}"'
        for name, value in style.items()
    )
    return f"<{kind} {told}>{inside}</{kind}>" if inside else f"<{kind} {told}/>"


def tag(x: float, y: float, text: str, fill: str) -> str:
    """A label: a word in a rounded box."""
    width = 14 + 7.2 * len(text)
    return box(x, y, width, 20, fill, rx=10) + word(x + width / 2, y + 14.5, text, "#fff", 12)


def arrow(x: float, y: float, length: float) -> str:
    end = x + length
    return line((x, y), (end, y)) + line((end - 6, y - 5), (end, y), (end - 6, y + 5))


def matrix(rows: tuple[str, ...], x: float, y: float, side: float = 17) -> list[str]:
    """Cells: 1 is full, 0 faint, ? unknown, x wrong."""
    parts = []
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            a, b, inner = x + j * (side + 4), y + i * (side + 4), side
            if cell == "?":
                parts.append(box(a, b, inner, inner, "none", stroke=GREY, stroke_dasharray="3 3"))
                parts.append(word(a + inner / 2, b + inner / 2 + 4.5, "?", ORANGE, 13))
                continue
            full = cell in "1x"
            parts.append(
                box(a, b, inner, inner, BLUE if full else GREY, opacity=1 if full else 0.3)
            )
            if cell == "x":
                middle = (a + inner / 2, b + inner / 2)
                parts.append(dot(*middle, 16, "none", stroke=ORANGE, stroke_width=3))
    return parts


def choosing() -> list[str]:
    heights = (34, 52, 43, 74, 60)
    colours = (GREY, GREY, GREY, BLUE, GREY)
    bars = [
        box(42 + 34 * i, 98 - h, 22, h, c, opacity=1 if c is BLUE else 0.45)
        for i, (h, c) in enumerate(zip(heights, colours))
    ]
    return [*bars, line((32, 100), (212, 100)), word(155, 17, "★", ORANGE, 17)]


def paragraph(x: float, y: float, widths: tuple[float, ...]) -> list[str]:
    return [box(x, y + 15 * i, w, 7, opacity=0.5) for i, w in enumerate(widths)]


def text() -> list[str]:
    tags = [tag(150, 24 + 28 * i, name, c) for i, (name, c) in enumerate(
        zip(("sport", "health", "city"), (BLUE, GREEN, ORANGE)))]  # fmt: skip
    return [*paragraph(24, 28, (84, 96, 70, 92, 52)), arrow(126, 61, 16), *tags]


def mixtures() -> list[str]:
    rows = ((40, BLUE), (26, GREY), (34, BLUE), (44, ORANGE)), (
        (28, GREY), (48, ORANGE), (30, BLUE), (36, ORANGE)), (
        (46, BLUE), (24, GREY), (40, BLUE), (28, GREY))  # fmt: skip
    parts = []
    for i, row in enumerate(rows):
        x = 34.0
        for width, colour in row:
            parts.append(
                box(x, 22 + 28 * i, width, 14, colour, opacity=0.4 if colour is GREY else 1)
            )
            x += width + 7
    return parts


def images() -> list[str]:
    frame = box(24, 18, 104, 84, "none", stroke=GREY, stroke_width=2.5)
    hills = path("M30,96 L58,58 L76,80 L94,62 L122,96 Z", GREEN, fill=GREEN, stroke_width=1)
    return [
        frame, hills, dot(104, 40, 9, ORANGE),
        tag(146, 34, "mountain", GREEN), tag(146, 64, "sunset", ORANGE),
    ]  # fmt: skip


def genes() -> list[str]:
    parts = []
    for i in range(13):
        x = 30 + 15 * i
        shift = 26 * math.sin(i * 0.75)
        parts.append(line((x, 60 - shift), (x, 60 + shift), opacity=0.45))
        parts.append(dot(x, round(60 - shift, 1), 4.5, BLUE))
        parts.append(dot(x, round(60 + shift, 1), 4.5, ORANGE))
    return parts


def rules() -> list[str]:
    def rule(y: float, condition: str, label: str, colour: str) -> list[str]:
        frame = box(22, y, 98, 26, "none", stroke=GREY, stroke_width=2)
        return [
            frame,
            word(71, y + 17.5, condition),
            arrow(128, y + 13, 26),
            tag(162, y + 3, label, colour),
        ]

    return [*rule(26, "sun > 6", "flowers", ORANGE), *rule(68, "tall, clay", "hedge", GREEN)]


def bags() -> list[str]:
    bag = path("M46,40 C20,104 132,104 106,40 C96,28 56,28 46,40 Z", GREY)
    places = ((64, 56, BLUE), (88, 52, GREY), (76, 72, ORANGE), (58, 76, GREY), (95, 75, BLUE))
    dots = [dot(x, y, 6, colour) for x, y, colour in places]
    return [
        bag,
        *dots,
        arrow(126, 61, 20),
        tag(160, 36, "sea", BLUE),
        tag(160, 66, "sand", ORANGE),
    ]


def grades() -> list[str]:
    parts = []
    for i, (stars, colour) in enumerate(((5, BLUE), (2, ORANGE), (4, GREEN))):
        parts.append(box(26, 25 + 29 * i, 54, 9, colour, opacity=0.8))
        for j in range(5):
            shown = {"opacity": 0.35} if j >= stars else {}
            fill = ORANGE if j < stars else GREY
            parts.append(word(106 + 25 * j, 36 + 29 * i, "★", fill, 22, **shown))
    return parts


def large() -> list[str]:
    parts, best = [], {0: 0, 1: 1, 2: 2, 3: 7}
    places = {(0, 0): (120.0, 18.0)}
    for depth, y in ((1, 42.0), (2, 68.0), (3, 98.0)):
        n = 2**depth if depth < 3 else 12
        for i in range(n):
            x = 24 + (i + 0.5) * 192 / n
            up = i // 2 if depth < 3 else i // 3
            on = best[depth] == i and best[depth - 1] == up
            places[depth, i] = (x, y)
            thick = 3 if on else 1.5
            parts.append(
                line(
                    places[depth - 1, up], (x, y), colour=BLUE if on else GREY, stroke_width=thick
                )
            )
            parts.append(dot(x, y, 5 if on else 3.5, BLUE if on else GREY))
    return [*parts, dot(120, 18, 6, BLUE)]


def dask() -> list[str]:
    parts = []
    for i in range(4):
        for j in range(3):
            parts.append(box(24 + 22 * j, 20 + 21 * i, 18, 17, COLOURS[(i + j) % 3], opacity=0.85))
    for i, colour in enumerate(COLOURS):
        y = 32 + 28 * i
        parts += [
            line((96, 61), (124, 61), (150, y)),
            box(152, y - 10, 62, 20, "none", stroke=colour, stroke_width=2.5),
        ]
        parts += [box(158 + 17 * k, y - 5, 12, 10, colour) for k in range(3)]
    return parts


def streams() -> list[str]:
    before = "M22,66 C40,44 58,38 84,36 C98,35 108,35 118,36"
    curve = f"{before} L122,88 C136,60 150,46 172,40 C190,36 204,35 218,34"
    return [
        line((22, 102), (218, 102)), path(curve, BLUE, stroke_width=3.5),
        line((120, 18), (120, 100), colour=ORANGE, stroke_dasharray="5 5"),
    ]  # fmt: skip


def thresholds() -> list[str]:
    scores = (150, 122, 66, 48, 26)
    bars = [
        box(44, 22 + 17 * i, w, 11, BLUE if w > 96 else GREY, opacity=1 if w > 96 else 0.45)
        for i, w in enumerate(scores)
    ]
    return [
        *bars,
        line((140, 14), (140, 108), colour=ORANGE, stroke_dasharray="5 5", stroke_width=3),
    ]


def imbalance() -> list[str]:
    bars = [
        box(26 + 19 * i, 100 - h, 13, h, GREY if i < 6 else ORANGE, opacity=0.55 if i < 6 else 1)
        for i, h in enumerate(82 * 0.7**i + 4 for i in range(10))
    ]
    return [*bars, line((22, 102), (218, 102))]


def missing_labels() -> list[str]:
    return matrix(("10?1?0", "?1001?", "0?11?0", "1?0?01"), 60, 20)


def wrong_labels() -> list[str]:
    return matrix(("100100", "010x10", "001100", "100001"), 60, 20)


def active_learning() -> list[str]:
    at = [(52, 34), (84, 70), (60, 92), (112, 42), (100, 96), (150, 64), (182, 36), (176, 92)]
    known = {(52, 34): BLUE, (100, 96): GREEN, (182, 36): ORANGE}
    dots = [dot(x, y, 7, known.get((x, y), GREY)) for x, y in at]
    return [*dots, dot(150, 64, 14, "none", stroke=ORANGE, stroke_width=3), word(150, 40, "?")]


def labeling() -> list[str]:
    ticked = [dot(70, y, 9, colour) for y, colour in ((36, BLUE), (64, GREY), (92, ORANGE))]
    return [*ticked, *(line((92, y), (180, y)) for y in (36, 64, 92))]


def hierarchies() -> list[str]:
    lines = [
        line((120, 30), (72, 62)),
        line((120, 30), (168, 62)),
        line((72, 72), (44, 98)),
        line((72, 72), (100, 98)),
    ]
    return [
        *lines, tag(95, 18, "sports", BLUE), tag(42, 56, "football", BLUE),
        tag(146, 56, "tennis", GREY), dot(44, 100, 7, BLUE), dot(100, 100, 7, GREY),
    ]  # fmt: skip


def explaining() -> list[str]:
    parts = [line((120, 16), (120, 106))]
    for i, w in enumerate((78, 46, 22, -30, -58)):
        parts.append(
            box(120 if w > 0 else 120 + w, 20 + 17.5 * i, abs(w), 12, BLUE if w > 0 else ORANGE)
        )
    return parts


def calibration() -> list[str]:
    points = [(66, 92), (88, 82), (110, 66), (132, 50), (154, 37), (174, 26)]
    return [
        line((60, 16), (60, 102), (182, 102)),
        line((60, 102), (180, 18), opacity=0.6, stroke_dasharray="4 5"),
        line(*points, colour=BLUE), *(dot(x, y, 5, BLUE) for x, y in points),
    ]  # fmt: skip


def guarantees() -> list[str]:
    ys = (40, 30, 44, 26, 36, 50, 32, 42, 66)
    dots = [dot(34 + 21.5 * i, y, 5.5, GREEN if y < 56 else ORANGE) for i, y in enumerate(ys)]
    return [
        line((22, 56), (218, 56), colour=GREY, stroke_dasharray="5 5"),
        word(120, 92, "≥ 90%", GREEN, 22, font_weight=600),
        *dots,
    ]


def comparing() -> list[str]:
    parts = [line((30, 34), (210, 34))]
    parts += [line((30 + 45 * i, 28), (30 + 45 * i, 40)) for i in range(5)]
    for x, y, colour in ((58, 64, BLUE), (76, 86, BLUE), (150, 86, GREY), (186, 64, GREY)):
        end = 24 if x < 120 else 216
        parts.append(line((x, 34), (x, y), (end, y), colour=colour))
    return [
        *parts,
        line((54, 46), (82, 46), colour=ORANGE, stroke_width=6),
        line((144, 50), (192, 50), colour=ORANGE, stroke_width=6),
    ]


def deployment() -> list[str]:
    file = path("M30,22 L66,22 L80,36 L80,98 L30,98 Z M66,22 L66,36 L80,36", BLUE)
    outline = "M178,26 L214,44 L214,82 L178,100 L142,82 L142,44 Z"
    cube = path(f"{outline} M142,44 L178,62 L214,44 M178,62 L178,100", GREEN)
    return [file, *paragraph(40, 50, (30, 24, 30)), arrow(94, 60, 32), cube]


def other_tools() -> list[str]:
    names = ((30, 22, BLUE), (30, 66, GREEN), (160, 22, ORANGE), (160, 66, GREY))
    return [
        *(line((120, 60), (x + 25, y + 16)) for x, y, _ in names),
        *(box(x, y, 50, 32, c, rx=6) for x, y, c in names), dot(120, 60, 16, BLUE),
    ]  # fmt: skip


def serving() -> list[str]:
    frame = box(32, 16, 176, 88, "none", rx=6, stroke=GREY, stroke_width=2.5)
    bar = line((32, 34), (208, 34))
    lights = [dot(44 + 11 * i, 25, 3.2, c) for i, c in enumerate((ORANGE, GREY, GREEN))]
    return [
        frame,
        bar,
        *lights,
        *paragraph(46, 48, (70, 84)),
        tag(46, 78, "flowers", ORANGE),
        tag(120, 78, "hedge", GREEN),
    ]


def moving() -> list[str]:
    old = [box(28, 30 + 22 * i, 58, 14, opacity=0.5) for i in range(3)]
    new = [box(154, 30 + 22 * i, 58, 14, c) for i, c in enumerate(COLOURS)]
    return [*old, *(arrow(98, 37 + 22 * i, 42) for i in range(3)), *new]


def fine_tuning() -> list[str]:
    parts = []
    for left in (34, 86, 138):
        parts += [box(left, 22 + 20 * i, 34, 13, GREY, opacity=0.45) for i in range(4)]
        parts.append(line((left + 34, 58), (left + 52, 58)))
    heads = [dot(202, 30 + 28 * i, 9, c) for i, c in enumerate(COLOURS)]
    return [*parts, *(line((190, 58), (202, 30 + 28 * i)) for i in range(3)), *heads]


def many_hands() -> list[str]:
    votes = [matrix((row,), 30, 20 + 26 * i) for i, row in enumerate(("1101", "1?01", "0101"))]
    fused = matrix(("1101",), 142, 46)
    return [*(cell for row in votes for cell in row), arrow(118, 55, 16), *fused]


PICTURES = {
    "choosing": choosing,
    "text": text,
    "fine-tuning": fine_tuning,
    "mixtures": mixtures,
    "images": images,
    "genes": genes,
    "rules": rules,
    "bags": bags,
    "grades": grades,
    "large-label-spaces": large,
    "dask": dask,
    "streams": streams,
    "thresholds": thresholds,
    "imbalance": imbalance,
    "missing-labels": missing_labels,
    "labeling": labeling,
    "active-learning": active_learning,
    "wrong-labels": wrong_labels,
    "many-hands": many_hands,
    "hierarchies": hierarchies,
    "explaining": explaining,
    "calibration": calibration,
    "guarantees": guarantees,
    "comparing": comparing,
    "deployment": deployment,
    "other-tools": other_tools,
    "serving": serving,
    "moving": moving,
}


def drawn(name: str) -> str:
    """The picture of a guide."""
    parts = "".join(f"\n  {part}" for part in PICTURES[name]())
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 120">{parts}\n</svg>\n'


def answered() -> dict[str, Any]:
    """What the code of the home page leaves behind."""
    page = (Path(__file__).parent / "index.md").read_text("utf-8")
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for code in re.findall(r"^```python\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL):
            session = re.findall(r"^(?:>>>|\.\.\.) (.*)$", code, flags=re.MULTILINE)
            exec("\n".join(session) if session else code, found)
        os.chdir("/")
    return found


def table(ink: str, faint: str, shade: str) -> str:
    """Three rows with tags, and a new one with the probabilities of its labels."""
    found = answered()
    plants, new, model = found["plants"], found["new"], found["model"]
    colours = dict(zip(model.label_names, (ORANGE, GREEN, BLUE)))
    columns, lefts = ["height", "sun", "soil"], (52, 116, 174)
    chosen = [
        plants.index[plants["tags"] == tags][0] for tags in ("flowers;hedge", "shade", "hedge")
    ]
    rows = [(plants.loc[i, columns], str(plants.loc[i, "tags"])) for i in chosen]

    def cells(values: Any, y: float, fill: str = ink, **style: object) -> list[str]:
        return [word(x, y, str(value), fill, 16, **style) for x, value in zip(lefts, values)]

    parts = [box(10, 8, 570, 34, shade, rx=8), *cells(columns, 31, ink, font_weight=600)]
    parts.append(word(233, 31, "tags", ink, 16, font_weight=600))
    for n, (values, tags) in enumerate(rows):
        y, x = 68 + 36 * n, 214.0
        parts += [
            *cells(values, y),
            line((10, y + 12), (580, y + 12), colour=faint, stroke_width=1),
        ]
        for name in tags.split(";"):
            parts.append(tag(x, y - 15, name, colours[name]))
            x += 22 + 7.2 * len(name)
    top, y, x = model.predict_proba(new[:1]).iloc[0], 190, 218.0
    parts += [
        box(10, 160, 570, 48, "none", rx=8, stroke=BLUE, stroke_width=2),
        *cells(new.loc[0, columns], y),
    ]
    for name, chance in top.sort_values(ascending=False).items():
        on = name in model.predict(new[:1])[0]
        told = f"{name} {100 * chance:.1f}%"
        width = 18 + 7.4 * len(told)
        fill = (
            {"fill": colours[name]}
            if on
            else {"fill": "none", "stroke": faint, "stroke_width": 1.5}
        )
        parts.append(box(x, y - 19, width, 26, rx=13, **fill))  # type: ignore[arg-type]
        parts.append(word(x + width / 2, y - 1.5, told, "#fff" if on else ink, 13))
        x += width + 8
    inside = "".join(f"\n  {part}" for part in parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 590 216">{inside}\n</svg>\n'


if __name__ == "__main__":
    themes = {
        "light": ("#24292f", "#c4c9ce", "#f0f3f6"),
        "dark": ("#dddddd", "#555b61", "#25282c"),
    }
    for theme, colours in themes.items():
        (OUT.parent / f"table-{theme}.svg").write_text(table(*colours), "utf-8")
    OUT.mkdir(exist_ok=True)
    for name in PICTURES:
        (OUT / f"{name}.svg").write_text(drawn(name), "utf-8")
    print(f"Wrote {len(PICTURES)} pictures to {OUT}")
