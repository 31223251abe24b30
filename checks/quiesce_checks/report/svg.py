"""Scalable Vector Graphics, written: elements, their text, and how wide a text may come out.

Pictures hold text and plain shapes only: no scripts, no style sheets, nothing from elsewhere. Which font a reader
has is not known, so :func:`wide` is an upper bound over the usual ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import east_asian_width
from xml.sax.saxutils import escape, quoteattr

FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"

BOLD = 1.13
"""How much wider a bold text is, at most."""

WIDTHS: tuple[tuple[str, float], ...] = (
    ("il|'", 0.32),
    ("jI.,:;! ", 0.37),
    ('ftr()[]{}/\\-"`', 0.43),
    ("cszJ_?*", 0.59),
    ("mwMW@%&…—", 1.01),
    ("→←↔≤≥≠=+<>~^#−", 0.86),
    ("ABCDEFGHKLNOPQRSTUVXYZ", 0.8),
)
"""Characters with their widths as a part of the font's size, each the widest of the usual sans-serif fonts."""

USUAL = 0.66
"""The width of every other letter, digit and sign."""

WIDTH_OF = {character: width for characters, width in WIDTHS for character in characters}


@dataclass(frozen=True)
class Ink:
    """How a text is written: size in pixels, colour, whether bold."""

    size: float
    colour: str
    bold: bool = False


@dataclass(frozen=True)
class Element:
    """An element with its attributes, and either elements or a text within it."""

    name: str
    attributes: tuple[tuple[str, str], ...] = ()
    inside: tuple[Element, ...] = ()
    text: str = ""


def wide(text: str, ink: Ink) -> float:
    """No less than the pixels that the text takes in a line."""
    em = sum(WIDTH_OF.get(character) or (1.0 if east_asian_width(character) in "WF" else USUAL) for character in text)
    return em * ink.size * (BOLD if ink.bold else 1)


def wrap(text: str, ink: Ink, room: float) -> list[str]:
    """The text in lines that fit; a word that is longer than a line is broken within, after a sign if it has one."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if wide(longer, ink) <= room:
            line = longer
            continue
        if line:
            lines.append(line)
        *full, line = pieces(word, ink, room)
        lines += full
    return [*lines, line] if line or not lines else lines


def pieces(word: str, ink: Ink, room: float) -> list[str]:
    """A word in pieces that fit, at least one character each."""
    found: list[str] = []
    while wide(word, ink) > room and len(word) > 1:
        fits = max((n for n in range(1, len(word)) if wide(word[:n], ink) <= room), default=1)
        signs = [n for n in range(1, fits + 1) if word[n - 1] in "_.,/)→-"]
        cut = signs[-1] if signs and signs[-1] * 4 >= fits else fits
        found.append(word[:cut])
        word = word[cut:]
    return [*found, word]


def number(value: float) -> str:
    """A coordinate, to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def text(x: float, y: float, content: str, ink: Ink, anchor: str = "start") -> Element:
    """A line of text; ``y`` is its base line, ``anchor`` what ``x`` is: its ``start``, ``middle`` or ``end``."""
    attributes = [("x", number(x)), ("y", number(y)), ("font-size", number(ink.size)), ("fill", ink.colour)]
    if ink.bold:
        attributes.append(("font-weight", "700"))
    if anchor != "start":
        attributes.append(("text-anchor", anchor))
    return Element("text", tuple(attributes), text=content)


def line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1, dash: str = "") -> Element:
    places = zip(("x1", "y1", "x2", "y2"), (x1, y1, x2, y2), strict=True)
    attributes = [*((name, number(value)) for name, value in places), ("stroke", colour)]
    if width != 1:
        attributes.append(("stroke-width", number(width)))
    if dash:
        attributes.append(("stroke-dasharray", dash))
    return Element("line", tuple(attributes))


def box(x: float, y: float, width: float, height: float, fill: str, *, stroke: str = "", corner: float = 0) -> Element:
    places = zip(("x", "y", "width", "height"), (x, y, width, height), strict=True)
    attributes = [*((name, number(value)) for name, value in places), ("fill", fill)]
    if corner:
        attributes.append(("rx", number(corner)))
    if stroke:
        attributes.append(("stroke", stroke))
    return Element("rect", tuple(attributes))


def dot(x: float, y: float, radius: float, fill: str) -> Element:
    attributes = (("cx", number(x)), ("cy", number(y)), ("r", number(radius)), ("fill", fill))
    return Element("circle", attributes)


def shape(points: Sequence[tuple[float, float]], fill: str) -> Element:
    """A filled polygon."""
    spelled = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    return Element("polygon", (("points", spelled), ("fill", fill)))


def group(inside: Sequence[Element], title: str = "") -> Element:
    """Elements that belong together; the title shows where a pointer rests on them."""
    about = (Element("title", text=title),) if title else ()
    return Element("g", inside=(*about, *inside))


def written(element: Element, indent: str = "") -> list[str]:
    """The lines of an element."""
    attributes = "".join(f" {name}={quoteattr(value)}" for name, value in element.attributes)
    if element.inside:
        inner = [line for child in element.inside for line in written(child, indent + " ")]
        return [f"{indent}<{element.name}{attributes}>", *inner, f"{indent}</{element.name}>"]
    if element.text:
        return [f"{indent}<{element.name}{attributes}>{escape(element.text)}</{element.name}>"]
    return [f"{indent}<{element.name}{attributes}/>"]


def document(width: float, height: float, title: str, inside: Sequence[Element]) -> str:
    """A file that stands alone. It is as wide as it was laid out, and shrinks with a page that is narrower."""
    root = Element(
        "svg",
        (
            ("xmlns", "http://www.w3.org/2000/svg"),
            ("width", number(width)),
            ("height", number(height)),
            ("viewBox", f"0 0 {number(width)} {number(height)}"),
            ("font-family", FONTS),
            ("role", "img"),
        ),
        (Element("title", text=title), *inside),
    )
    return "\n".join(written(root)) + "\n"
