"""What a picture holds, read back from the file as strictly as a stranger would read it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as ET

import msgspec

from stateous.compiler.drawing.marks import Marks
from stateous.compiler.ends import fail_places
from stateous.model.graph import Graph, parse_graph

SVG = "{http://www.w3.org/2000/svg}"
_MOVE = re.compile(r"translate\((-?[\d.]+) (-?[\d.]+)\)")
_COMMAND = re.compile(r"([A-Za-z])([^A-Za-z]*)")
_NUMBERS = {"M": 2, "L": 2, "C": 6, "Q": 4}


class Shape(msgspec.Struct, frozen=True):
    """A rectangle or a text with the corners of the room that it takes on the page."""

    kind: str
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Shape) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


class Picture:
    """An SVG file, parsed."""

    def __init__(self, svg: str) -> None:
        self.root = ET.fromstring(svg)  # noqa: S314 - it is our own
        self.tooltips = [title.text or "" for title in self.root.iter(f"{SVG}title")]
        self.texts = [text.text or "" for text in self.root.iter(f"{SVG}text")]
        self.width, self.height = (
            float(self.root.get("width", "")),
            float(self.root.get("height", "")),
        )
        self._elements = list(_placed(self.root, 0.0, 0.0))

    def rectangles(self, kind: str) -> list[Shape]:
        """The rectangles whose class begins with this word."""
        return [
            Shape(kind, x, y, x + float(each.get("width", "")), y + float(each.get("height", "")))
            for each, dx, dy in self._elements
            if each.tag == f"{SVG}rect" and each.get("class", "").split()[0] == kind
            for x, y in [(float(each.get("x", "")) + dx, float(each.get("y", "")) + dy)]
        ]

    def lines(self, tone: str | None = None) -> list[list[tuple[float, float]]]:
        """The points of each line, or of those of a tone; those that bend it, too."""
        return [
            [(x + dx, y + dy) for x, y in _points(each.get("d", ""))]
            for each, dx, dy in self._elements
            if each.tag == f"{SVG}path" and each.get("class", "").startswith("line")
            if tone is None or each.get("class") == f"line {tone}"
        ]

    def classes(self) -> set[str]:
        return {each.get("class", "") for each, _, _ in self._elements}


def _placed(element: ET.Element, dx: float, dy: float) -> Iterator[tuple[ET.Element, float, float]]:
    moved = _MOVE.fullmatch(element.get("transform", ""))
    assert moved or "transform" not in element.attrib
    if moved:
        dx, dy = dx + float(moved[1]), dy + float(moved[2])
    yield element, dx, dy
    for child in element:
        yield from _placed(child, dx, dy)


def _points(path: str) -> Iterator[tuple[float, float]]:
    """Every pair of numbers of a path. All commands are absolute, and take pairs only."""
    assert path.startswith("M")
    for command, given in _COMMAND.findall(path):
        numbers = [float(number) for number in given.split()]
        assert len(numbers) == _NUMBERS[command], path
        yield from zip(numbers[::2], numbers[1::2], strict=True)


def read(document: Any) -> tuple[Graph, Marks]:
    """A graph file's graph, and the marks that need no proof."""
    graph = parse_graph(document)
    return graph, Marks(fails=fail_places(graph))
