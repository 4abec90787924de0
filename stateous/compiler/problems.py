"""What is wrong with a workflow: a sentence, and where the author wrote what it is about."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import msgspec

from stateous.model.articles import a_kind_of
from stateous.model.guard_tokens import clipped
from stateous.model.names import END, START
from stateous.model.workflow import Declared, WorkflowEvent, WorkflowState

_SHOWN: Final = 60
_SHOWN_GUARD: Final = 120
_NEAR: Final = 0.6


class Problem(msgspec.Struct, frozen=True):
    """One mistake, or one warning. `at` is where that which the sentence speaks of was declared."""

    sentence: str
    at: tuple[Declared, ...] = ()

    def said(self, folder: Path) -> str:
        """The sentence with its place: `… (flow.py, line 12)`. Files are named as `folder` sees them."""
        lines: dict[str, list[str]] = {}
        for place in self.at:
            known = lines.setdefault(file_shown(place.file, folder), [])
            if str(place.line) not in known:
                known.append(str(place.line))
        places = "; ".join(f"{file}, {_lines(known)}" for file, known in lines.items())
        return f"{self.sentence} ({places})" if places else self.sentence


def file_shown(file: str, folder: Path) -> str:
    """The file as seen from the folder; one that lies elsewhere by its name alone."""
    path = Path(file)
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path.name)


def _lines(numbers: list[str]) -> str:
    if len(numbers) == 1:
        return f"line {numbers[0]}"
    return f"lines {', '.join(numbers[:-1])} and {numbers[-1]}"


def near(name: object, known: Iterable[str], shown: str = "'{}'") -> str:
    """`: did you mean 'reviewed'?`, when a known name is near; else nothing. Case does not count."""
    if not isinstance(name, str):
        return ""
    folded = {each.lower(): each for each in known}
    found = get_close_matches(name.lower(), folded, n=1, cutoff=_NEAR)
    return f": did you mean {shown.format(folded[found[0]])}?" if found else ""


def called(thing: object) -> str:
    """What the author calls a state or an event, in quotes; START and END by their own names."""
    if isinstance(thing, WorkflowEvent | WorkflowState):
        return shown(thing.name)
    names = {START: "START", END: "END"}
    return names.get(thing, shown(thing)) if isinstance(thing, str) else shown(thing)


def guard_shown(text: str | None) -> str:
    """A guard in quotes, cut short."""
    return repr(clipped(text or "", _SHOWN_GUARD))


def shown(thing: Any) -> str:
    """How Python writes a value, on one line and cut short."""
    if isinstance(thing, str) and len(thing) > _SHOWN:
        thing = f"{thing[:_SHOWN]}…"
    try:
        text = repr(thing)
    except Exception:  # noqa: BLE001  # the author's own class writes it
        text = a_kind_of(thing)
    text = " ".join(text.split())
    # A text has its quotes, and is cut within them.
    return text if len(text) <= _SHOWN or isinstance(thing, str) else f"{text[:_SHOWN]}…"


def is_text(thing: object) -> bool:
    """Whether it is a text, where types promise one and an author may give something else."""
    return isinstance(thing, str)
