"""What a picture says: the words of transitions, states and marks, whole and cut to what has room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from stateous.model.durations import say_duration
from stateous.model.graph import Flow, State, Transition
from stateous.model.names import END, ERROR, JOINED, START, TIMEOUT
from stateous.model.sentences import printable

CUT: Final = "…"
_MORE: Final = 4  # characters that a line may have rather than one more line


def event_words(state: State | None, event: str) -> str:
    """The event of a transition; of an own event, also what the state says about it."""
    if state is None:
        return one_line(event)
    if event == TIMEOUT and state.timeout is not None:
        return f"timeout after {say_duration(state.timeout)}"
    if event == ERROR and state.retries:
        return f"error after {state.retries} {'retry' if state.retries == 1 else 'retries'}"
    if event == JOINED and state.parallel:
        return f"joined ({state.join})"
    return one_line(event)


def guard_words(flow: Flow, way: Transition) -> str | None:
    """`when …`, or `otherwise` for one without a guard whose rivals have one; None when there is nothing to say."""
    if way.when is not None:
        return f"when {one_line(way.when)}"
    rivals = flow.starts if way.on is None else flow.routes(way.source, way.on)
    return "otherwise" if any(rival.when is not None for rival in rivals) else None


def way_sentence(flow: Flow, way: Transition) -> str:
    """The whole transition on one line: `review → END on reviewed when payload.approved`."""
    words = [end_words(way.source), "→", end_words(way.target)]
    if way.on is not None:
        words += ["on", event_words(flow.states.get(way.source), way.on)]
    if guard := guard_words(flow, way):
        words.append(guard)
    return " ".join(words)


def end_words(name: str) -> str:
    """A state's name, or START or END."""
    return {START: "START", END: "END"}.get(name) or one_line(name)


def runs_words(state: State) -> str:
    """`runs all of credit, fraud`, or `runs credit`; `may run audit` when its routine does."""
    if not state.parallel:
        return f"may run {', '.join(one_line(child) for child in state.children)}"
    children = ", ".join(one_line(child) for child in state.parallel)
    return f"runs {state.join} of {children}" if len(state.parallel) > 1 else f"runs {children}"


def fail_words(state: State, events: Sequence[str]) -> str:
    """`fails here: error, timeout after 6 hours`."""
    return "fails here: " + ", ".join(event_words(state, event) for event in events)


def one_line(text: str) -> str:
    """The text on one line, with an escape for every character that no reader can see."""
    return printable(" ".join(text.split()))


def cut(text: str, length: int) -> str:
    """The text, or its beginning with … when it has more than `length` characters."""
    return text if len(text) <= length else text[: length - 1].rstrip() + CUT


def wrapped(text: str, *, width: int, lines: int) -> list[str]:
    """The text on at most so many lines of about `width` characters, the last one cut with … if need be."""
    found: list[str] = []
    left = text
    while len(left) > width + _MORE and len(found) < lines - 1:
        at = left.rfind(" ", 1, width + 1)
        at = at if at > 0 else width
        found.append(left[:at])
        left = left[at:].lstrip()
    return [*found, cut(left, width + _MORE)]
