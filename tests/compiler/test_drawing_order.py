"""What makes a picture easy to follow: arrows lead down, few lines cross, and many ways to one place are one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from stateous.compiler.drawing.grid import Grid, Line, Size, grid_of
from stateous.compiler.drawing.layers import layers_of
from stateous.compiler.drawing.library import untangled
from stateous.compiler.drawing.order import rows_of
from stateous.compiler.drawing.ports import spread
from stateous.compiler.drawing.pushing import settled
from stateous.compiler.drawing.sketch import sketch_of
from tests.compiler.busy_graphs import busy_graph
from tests.compiler.pictures import read

BOX = Size(20.0, 20.0, 10.0)


def test_a_road_stands_layer_below_layer() -> None:
    assert layers_of(4, [(0, 1), (1, 2), (2, 3)]) == [0, 1, 2, 3]
    assert layers_of(4, [(0, 2), (2, 1), (1, 3), (0, 3)]) == [0, 2, 1, 3]


def test_what_leads_back_to_an_earlier_state_leads_up() -> None:
    assert layers_of(4, [(0, 1), (1, 2), (2, 1), (2, 3), (3, 1)]) == [0, 1, 2, 3]


def test_a_state_stands_below_the_one_it_is_reached_from_however_many_ways_lead_back() -> None:
    assert layers_of(3, [(0, 1), (1, 2), *[(2, 1)] * 10]) == [0, 1, 2]


def test_a_state_stands_near_what_it_leads_to() -> None:
    """Box 4 is reached early, and leads with two arrows to the end of the road."""
    arrows = [(0, 1), (1, 2), (2, 3), (0, 4), (4, 3), (4, 3)]
    assert layers_of(5, arrows) == [0, 1, 2, 3, 2]


def test_what_nothing_leads_to_stands_on_top() -> None:
    assert layers_of(3, [(0, 1), (2, 1)]) == [0, 1, 0]


def test_many_ways_to_one_place_are_one_line() -> None:
    """Boxes 1, 2 and 3 stand below each other, and each leads to 4."""
    ways = [(0, 1), (1, 2), (2, 3), (1, 4), (2, 4), (3, 4)]
    lines = [Line(source, target, BOX, "plain") for source, target in ways]
    grid = grid_of([BOX] * 5, lines, [0, 1, 2, 3, 4])
    assert sum(cell.trunk is not None for cell in grid.cells) == 4
    assert grid.routes[3][-3:] == grid.routes[4][-3:]


def test_lines_of_another_tone_have_a_way_of_their_own() -> None:
    ways = [(0, 2, "plain"), (1, 2, "plain"), (0, 2, "clash")]
    lines = [Line(source, target, BOX, tone) for source, target, tone in ways]
    grid = grid_of([BOX] * 3, lines, [0, 0, 2])
    assert grid.routes[0][-2:] == grid.routes[1][-2:]
    assert grid.routes[0][-2] != grid.routes[2][-2]


def test_fewer_lines_cross_than_the_library_leaves() -> None:
    ours, theirs = 0, 0
    for seed in range(6):
        grid = grid_of_busy(seed)
        layers = [cell.layer for cell in grid.cells]
        columns = untangled(layers, grid.links)
        rows = rows_of(grid)
        assert [sorted(row) for row in rows] == [
            [cell for cell, at in enumerate(layers) if at == layer] for layer in range(len(rows))
        ]
        one = crossings(grid, columns)
        places = {cell: at for row in rows for at, cell in enumerate(row)}
        two = crossings(grid, [places[cell] for cell in range(len(layers))])
        assert two <= one
        ours, theirs = ours + two, theirs + one
    assert ours < theirs


def grid_of_busy(seed: int) -> Grid:
    graph, marks = read(busy_graph(40, seed=seed))
    sketch = sketch_of(graph.flows[graph.workflow], marks, is_main=True)
    lines = [Line(each.source, each.target, BOX, each.tone) for each in sketch.arrows]
    arrows = [(each.source, each.target) for each in sketch.arrows]
    return grid_of([BOX] * len(sketch.boxes), lines, layers_of(len(sketch.boxes), arrows))


def crossings(grid: Grid, columns: Sequence[float]) -> int:
    """How many pairs of links between the same two layers cross."""
    return sum(
        grid.cells[one].layer == grid.cells[three].layer
        and (columns[one] - columns[three]) * (columns[two] - columns[four]) < 0
        for (one, two), (three, four) in combinations(grid.links, 2)
    )


def test_ports_are_where_their_lines_go_and_apart() -> None:
    assert spread([50.0], 0.0, 100.0) == [50.0]
    assert spread([-500.0, 900.0], 0.0, 100.0) == [0.0, 100.0]
    assert spread([50.0, 50.0, 50.0], 0.0, 100.0) == [50.0, 64.0, 78.0]
    assert spread([500.0] * 3, 0.0, 10.0) == [0.0, 5.0, 10.0]


def test_frames_settle_as_near_to_their_wishes_as_there_is_room() -> None:
    assert settled([0.0, 100.0], [50.0]) == [0.0, 100.0]
    assert settled([10.0, 10.0], [50.0]) == [-15.0, 35.0]
    assert settled([0.0, 0.0, 300.0], [40.0, 40.0]) == [-20.0, 20.0, 300.0]
