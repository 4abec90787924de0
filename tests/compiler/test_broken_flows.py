"""Each mistake that an author may make, in a flow.py as it would be, and all that is said of it.

`broken/right.py` is a right flow. The blocks of `broken/*.txt` break it: `# ` begins one and says what is wrong,
`55: ` is another text for that line, `+ ` a line more at the end, `! ` a problem that is expected, `? ` a
warning, and `= ` the name that the workflow is then said to have. Everything that is said is here.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from stateous.compiler.checking import InvalidWorkflow
from stateous.compiler.flow import load_flow

FOLDER = Path(__file__).parent / "broken"
RIGHT = (FOLDER / "right.py").read_text(encoding="utf-8")


class Broken(msgspec.Struct, frozen=True):
    """One broken flow, and what is said of it; with problems, nothing is said of warnings."""

    title: str
    flow: str
    name: str
    problems: tuple[str, ...]
    warnings: tuple[str, ...]


def broken(block: str) -> Broken:
    title, *rest = block.strip().splitlines()
    lines = RIGHT.splitlines()
    said: dict[str, list[str]] = {"!": [], "?": [], "=": []}
    for line in rest:
        kind, _, text = line.partition(" ")
        if kind == "+":
            lines.append(text)
        elif kind in said:
            said[kind].append(text)
        else:
            lines[int(kind.removesuffix(":")) - 1] = text
    return Broken(
        title=title.removeprefix("# "),
        flow="\n".join([*lines, ""]),
        name=said["="][0] if said["="] else "orders",
        problems=tuple(said["!"]),
        warnings=tuple(said["?"]),
    )


FLOWS = [
    broken(block)
    for file in sorted(FOLDER.glob("*.txt"))
    for block in re.split(r"\n(?=# )", file.read_text(encoding="utf-8"))
]


def test_the_right_flow_has_no_problem_and_no_warning() -> None:
    assert load_flow(FOLDER / "right.py").warnings == ()


@pytest.mark.parametrize("it", FLOWS, ids=lambda it: it.title)
def test_of_a_broken_flow_all_is_said(it: Broken, tmp_path: Path) -> None:
    flow = tmp_path / "flow.py"
    flow.write_text(it.flow, encoding="utf-8")
    if it.problems:
        with pytest.raises(InvalidWorkflow) as refused:
            load_flow(flow)
        first, *lines = str(refused.value).split("\n  ")
        assert first == f"workflow '{it.name}' is not valid:"
        assert lines == list(it.problems)
    else:
        assert load_flow(flow).warnings == it.warnings
        assert it.warnings


def test_there_are_many_of_them_and_none_is_there_twice() -> None:
    assert len({it.flow for it in FLOWS}) == len({it.title for it in FLOWS}) == len(FLOWS) > 120
