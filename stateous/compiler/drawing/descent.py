"""Rows of frames below each other, and the lines that lead from frames down to those of child workflows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from stateous.compiler.drawing.arranging import Point
from stateous.compiler.drawing.frames import Frame
from stateous.compiler.drawing.ports import spread
from stateous.compiler.drawing.pushing import settled

# All numbers are pixels.
BETWEEN_FRAMES: Final = 28.0
_BETWEEN_ROWS: Final = 40.0
_LANE: Final = 9.0  # between two lines that lead sideways
_CORNER: Final = 24.0  # that lines to a frame keep away from its corners


class Way:
    """A line on its way from a frame to that of a child workflow: straight from corner to corner."""

    def __init__(self, child: str, begin: Point) -> None:
        self.child = child
        self.corners = [begin]

    @property
    def x(self) -> float:
        return self.corners[-1][0]

    def goes_down(self, x: float, *, lane: float, to: float) -> None:
        """On down to a height, and sideways to `x` on a lane before it."""
        if x != self.x:
            self.corners += [(self.x, lane), (x, lane)]
        self.corners.append((x, to))


class Descent:
    """Places row after row, each frame as near as it can be to below what runs it.

    `frames` are the frames so far with their left upper corners; `arrived` are the lines that are complete.
    """

    def __init__(self, top: float) -> None:
        self.frames: list[tuple[Frame, Point]] = []
        self.arrived: list[Way] = []
        self.bottom = top
        self._under_way: list[Way] = []

    def place(self, row: Sequence[Frame]) -> None:
        """Place the next row, which is not empty."""
        first_lane = self.bottom + _BETWEEN_ROWS / 2
        top = self.bottom
        if self.frames:
            top += _BETWEEN_ROWS + _LANE * len(self._under_way)
        bottom = top + max(frame.height for frame in row)
        lefts, ends = self._across(row)
        for at, way in enumerate(sorted(self._under_way, key=lambda way: _turn(way, ends[way]))):
            lane = first_lane + _LANE * at
            arrives = any(frame.workflow == way.child for frame in row)
            way.goes_down(ends[way], lane=lane, to=top if arrives else bottom)
            if arrives:
                self.arrived.append(way)
                self._under_way.remove(way)
        for frame, left in zip(row, lefts, strict=True):
            self.frames.append((frame, (left, top)))
            for leaving in frame.exits:
                begin = (left + leaving.point[0], top + leaving.point[1])
                self._under_way += [Way(child, begin) for child in leaving.runs]
        self.bottom = bottom

    def _across(self, row: Sequence[Frame]) -> tuple[list[float], dict[Way, float]]:
        """The left of each frame of the row, and where each line goes that is under way."""
        to = {
            frame.workflow: [way for way in self._under_way if way.child == frame.workflow]
            for frame in row
        }
        passing = [way for way in self._under_way if way.child not in to]
        items = [
            *(
                (_middle(to[frame.workflow] or self._under_way), frame.width, at)
                for at, frame in enumerate(row)
            ),
            *((way.x, 0.0, len(row) + at) for at, way in enumerate(passing)),
        ]
        items.sort()
        apart = [(one[1] + two[1]) / 2 + BETWEEN_FRAMES for one, two in pairwise(items)]
        places = settled([item[0] for item in items], apart)
        found = {item[2]: x for item, x in zip(items, places, strict=True)}
        ends = {way: found[len(row) + at] for at, way in enumerate(passing)}
        lefts = [found[at] - frame.width / 2 for at, frame in enumerate(row)]
        for frame, left in zip(row, lefts, strict=True):
            arriving = sorted(to[frame.workflow], key=lambda way: way.x)
            room = (left + _CORNER, left + frame.width - _CORNER)
            ends.update(zip(arriving, spread([way.x for way in arriving], *room), strict=True))
        return lefts, ends


def _middle(ways: Iterable[Way]) -> float:
    places = [way.x for way in ways]
    return sum(places) / len(places) if places else 0.0


def _turn(way: Way, end: float) -> tuple[bool, float, float]:
    """Lines sort so that few cross: of those that lead to one side, the foremost takes the upper lane."""
    return (end > way.x, -way.x if end > way.x else way.x, abs(end - way.x))
