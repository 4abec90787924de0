"""The picture as Mermaid: text that many pages draw, and that people can read as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from stateous.compiler.drawing.blocks import Block
from stateous.compiler.drawing.marks import Marks
from stateous.compiler.drawing.mermaid_text import NodeNames, label_of
from stateous.compiler.drawing.sketch import Box, Sketch, Tone, sketch_of
from stateous.compiler.drawing.trail import Trail
from stateous.model.graph import Graph

_CLASSES: Final = {
    "mark": "fill:#1f2328,stroke:#8c959f,color:#ffffff",
    "parallel": "stroke:#8250df",
    "fails": "stroke:#cf222e",
    "clash": "fill:#fff8c5,stroke:#cf222e,color:#1f2328",
    "gap": "fill:#fff8c5,stroke:#9a6700,color:#1f2328",
    "visited": "stroke:#0969da,stroke-width:2px",
    "here": "fill:#0969da,stroke:#0969da,color:#ffffff",
    "failed": "fill:#cf222e,stroke:#cf222e,color:#ffffff",
}
_LINKS: Final = {
    "clash": "stroke:#cf222e,stroke-width:2px,stroke-dasharray:6 3,color:#cf222e",
    "never": "stroke:#afb8c1,stroke-dasharray:2 3,color:#8c959f",
}
_INDENT: Final = "    "


def mermaid_of(graph: Graph, marks: Marks, trail: Trail | None = None) -> str:
    """Return the text of a flowchart of a graph with its marks, and with a token's trail when there is one.

    The same ones always give the same text.
    """
    return _Writing(graph, marks, trail).written()


class _Writing:
    def __init__(self, graph: Graph, marks: Marks, trail: Trail | None) -> None:
        self.graph = graph
        self.marks = marks
        self.trail = trail
        self.names = NodeNames()
        self.lines: list[str] = []
        self.count = 0  # of the links so far: Mermaid knows them by number
        self.classes: dict[str, list[str]] = {name: [] for name in _CLASSES}
        self.links: dict[str, list[int]] = {tone: [] for tone in _LINKS}

    def written(self) -> str:
        self._say("flowchart TD", "")
        frames = {
            child: self.names.new("workflow", child)
            for child in self.graph.flows
            if child != self.graph.workflow
        }
        runs: list[tuple[str, str]] = []
        for flow in self.graph.flows.values():
            is_main = flow.workflow == self.graph.workflow
            sketch = sketch_of(flow, self.marks, is_main=is_main)
            if is_main:
                runs += self._workflow(sketch, _INDENT)
            else:
                title = label_of([sketch.title.lines[0].text])
                self._say(f"subgraph {frames[flow.workflow]}[{title}]")
                self._say("direction TB", 2 * _INDENT)
                runs += self._workflow(sketch, 2 * _INDENT)
                self._say("end")
        for node, child in runs:
            self._count(f"{node} -.-> {frames[child]}", _INDENT)
        for name, nodes in self.classes.items():
            if nodes:
                self._say(f"classDef {name} {_CLASSES[name]}")
                self._say(f"class {','.join(nodes)} {name}")
        for tone, links in self.links.items():
            if links:
                self._say(f"linkStyle {','.join(map(str, links))} {_LINKS[tone]}")
        return "\n".join(self.lines) + "\n"

    def _workflow(self, sketch: Sketch, indent: str) -> list[tuple[str, str]]:
        """Write one workflow; return which of its nodes run which child workflows."""
        nodes = [self.names.new(sketch.workflow, box.block.lines[0].text) for box in sketch.boxes]
        for node, box in zip(nodes, sketch.boxes, strict=True):
            self._box(node, box, sketch, indent)
        for at, (node, box) in enumerate(zip(nodes, sketch.boxes, strict=True)):
            for arrow in (arrow for arrow in sketch.arrows if arrow.source == at):
                self._link(node, nodes[arrow.target], arrow.blocks, indent, tone=arrow.tone)
            for loop in box.loops:
                self._link(node, node, loop.blocks, indent, tone=loop.tone)
        for note in sketch.notes:
            name = self.names.new(sketch.workflow, "note")
            self._say(f"{name}[{_label([note.block])}]", indent)
            self._count(f"{nodes[note.box]} -.- {name}", indent)
            self.classes[note.tone].append(name)
        # A line from a node to the frame that it stands in is more than Mermaid can draw.
        return [
            (node, child)
            for node, box in zip(nodes, sketch.boxes, strict=True)
            for child in box.runs
            if child != sketch.workflow
        ]

    def _box(self, node: str, box: Box, sketch: Sketch, indent: str) -> None:
        lines = [words.text for words in box.block.lines]
        if any(words.style == "fail" for words in box.block.lines):
            self.classes["fails"].append(node)
        elif box.kind != "state":
            self.classes["parallel" if box.kind == "parallel" else "mark"].append(node)
        if self.trail is not None and self.trail.workflow == sketch.workflow:
            lines += self.trail.words(box.name)
            if style := self.trail.style(box.name):
                self.classes[style].append(node)
        label = label_of(lines)
        round_ = box.kind in ("start", "end")
        self._say(f"{node}([{label}])" if round_ else f"{node}[{label}]", indent)

    def _link(
        self, source: str, target: str, blocks: Sequence[Block], indent: str, *, tone: Tone
    ) -> None:
        if tone != "plain":
            self.links[tone].append(self.count)
        on = f"|{_label(blocks)}|" if any(block.lines for block in blocks) else ""
        self._count(f"{source} -->{on} {target}", indent)

    def _count(self, line: str, indent: str) -> None:
        self._say(line, indent)
        self.count += 1

    def _say(self, line: str, indent: str = _INDENT) -> None:
        self.lines.append(indent + line)


def _label(blocks: Sequence[Block]) -> str:
    return label_of(words.text for block in blocks for words in block.lines)
