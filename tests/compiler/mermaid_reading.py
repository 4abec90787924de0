"""A flowchart of Mermaid, read line by line. Whatever we do not write is a mistake."""

from __future__ import annotations

import re
from html.entities import html5

import msgspec

LABEL = r'"([^"\n]*)"'
NAME = r"[A-Za-z0-9_]+"
NODE = re.compile(rf"({NAME})(\(\[{LABEL}\]\)|\[{LABEL}\])")
LINK = re.compile(rf"({NAME}) (-->|-\.->|-\.-)(?:\|{LABEL}\|)? ({NAME})")
FRAME = re.compile(rf"subgraph ({NAME})\[{LABEL}\]")
CLASS = re.compile(rf"class ({NAME}(?:,{NAME})*) ({NAME})")
DEFINITION = re.compile(rf"classDef ({NAME}) [a-z-]+:[^,;]+(?:,[a-z-]+:[^,;]+)*")
LINK_STYLE = re.compile(r"linkStyle (\d+(?:,\d+)*) ([a-z-]+:[^,;]+(?:,[a-z-]+:[^,;]+)*)")
WORDS_OF_MERMAID = frozenset(
    {"end", "graph", "flowchart", "subgraph", "style", "linkStyle", "classDef", "class", "click"}
)
PLAIN = re.compile(r"[\w .,'()\[\]=!\-/?:]*")


class Chart(msgspec.Struct):
    """All of a flowchart.

    `nodes` has each node's label and the subgraph that it stands in, or ''; `links` have their source,
    target, label and shape; `styles` are those of links, by number.
    """

    nodes: dict[str, tuple[str, str]] = {}
    links: list[tuple[str, str, str, str]] = []
    frames: dict[str, str] = {}
    classes: dict[str, list[str]] = {}
    styles: dict[int, str] = {}

    def label(self, node: str) -> str:
        return self.nodes[node][0]

    def of_class(self, name: str) -> list[str]:
        """The first lines of the labels of the nodes of a class."""
        return [self.label(node).split("\n")[0] for node in self.classes.get(name, [])]


def read_chart(text: str) -> Chart:
    first, *lines = text.removesuffix("\n").split("\n")
    assert first == "flowchart TD"
    assert text.isprintable() or set(text) - {"\n"} == set(filter(str.isprintable, text))
    chart = Chart()
    frame = ""
    for line in map(str.strip, lines):
        if frame and line in ("end", "direction TB"):
            frame = "" if line == "end" else frame
        elif found := FRAME.fullmatch(line):
            assert not frame
            assert found[1] not in chart.frames
            frame = found[1]
            chart.frames[frame] = decoded(found[2])
        elif found := NODE.fullmatch(line):
            assert found[1] not in chart.nodes
            assert found[1] not in WORDS_OF_MERMAID
            chart.nodes[found[1]] = (decoded(found[3] if found[3] is not None else found[4]), frame)
        elif found := LINK.fullmatch(line):
            assert found[1] in chart.nodes
            assert found[4] in (chart.frames if found[2] == "-.->" else chart.nodes)
            chart.links.append((found[1], found[4], decoded(found[3] or ""), found[2]))
        elif found := CLASS.fullmatch(line):
            assert set(found[1].split(",")) <= set(chart.nodes)
            chart.classes[found[2]] = found[1].split(",")
        elif found := LINK_STYLE.fullmatch(line):
            for number in map(int, found[1].split(",")):
                assert number < len(chart.links)
                chart.styles[number] = found[2]
        else:
            assert DEFINITION.fullmatch(line), line
    assert not frame
    return chart


def decoded(label: str) -> str:
    """What a label says, with its lines; nothing in it may mean something to Mermaid."""
    return "\n".join(map(_line, label.split("<br/>")))


def _line(text: str) -> str:
    assert "<" not in text
    parts = re.split(r"(#\w+;)", text)
    assert all(PLAIN.fullmatch(part) for part in parts[::2]), text
    assert not re.match(r"[^\w'(\[#]|\d+[.)]|_", text), text
    assert not re.search(r"\b_|_\b|:\S|:$|\]\(|www\.", "".join(parts[::2])), text
    for at in range(1, len(parts), 2):
        code = parts[at][1:-1]
        parts[at] = chr(int(code)) if code.isdecimal() else html5[f"{code};"]
    return "".join(parts)
