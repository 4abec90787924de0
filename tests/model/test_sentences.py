"""What entries and tokens look like to a person."""

from __future__ import annotations

from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateous.model.sentences import SENTENCES, entry_sentence, printable, token_sentence

ACTED_ON = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp", "Zs"}
"""The categories of characters that a terminal acts on or does not show: not those of no character yet."""

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
FIELDS = st.sampled_from(
    ["event", "payload", "state", "task", "context", "reason", "error", "text", "parent"]
)


@pytest.mark.parametrize(
    ("kind", "data", "said"),
    [
        ("started", {"context": {"n": 1}}, 'started with {"n":1}'),
        ("started", {"context": {}, "parent": "T"}, "started with {} by T"),
        (
            "event_accepted",
            {"event": "e", "payload": None, "state": "s"},
            "event e accepted in s",
        ),
        (
            "event_accepted",
            {"event": "e", "payload": {"a": [1, None]}, "state": "s"},
            'event e accepted in s with {"a":[1,null]}',
        ),
        ("task_failed", {"task": 3, "error": "it broke"}, "task 3 failed: it broke"),
        ("task_waiting", {"task": 1}, "task 1 waits for someone outside"),
        (
            "task_waiting",
            {"task": 1, "awaiting": ["a", "b"]},
            'task 1 waits for someone outside: ["a","b"]',
        ),
        (
            "task_waiting",
            {"task": 1, "awaiting": ["audit"], "step": "audit", "kind": "child"},
            "task 1 awaits the child audit",
        ),
        ("cancelled", {}, "cancelled"),
        ("cancelled", {"reason": "the parent left"}, "cancelled: the parent left"),
        ("completed", {}, "completed"),
        ("note", {"task": 1, "text": "{task} [text]"}, "task 1 notes: {task} [text]"),
    ],
)
def test_an_entry_is_said_as_a_sentence(kind: str, data: dict[str, object], said: str) -> None:
    assert entry_sentence(kind, data) == said


def test_a_kind_of_a_newer_control_plane_is_said_with_its_data() -> None:
    assert entry_sentence("step_saved", {"step": 1}) == 'step_saved {"step":1}'


def test_an_error_of_many_lines_stays_one_line_and_colours_nothing() -> None:
    said = entry_sentence("task_failed", {"task": 1, "error": "one\ntwo\x1b[31m"})
    assert said == r"task 1 failed: one\ntwo\x1b[31m"


@given(st.sampled_from(sorted(SENTENCES)), st.dictionaries(FIELDS, JSON))
def test_no_entry_is_ever_more_than_one_printable_line(kind: str, data: dict[str, object]) -> None:
    said = entry_sentence(kind, data)
    assert not [char for char in said if char != " " and category(char) in ACTED_ON]


def test_what_is_unprintable_is_the_same_whatever_unicode_a_python_knows() -> None:
    kept = [
        chr(code)
        for code in range(0x110000)
        if chr(code) == printable(chr(code)) and category(chr(code)) in ACTED_ON
    ]
    assert kept == [" "]
    assert printable("new in Unicode 99: \U0001faff") == "new in Unicode 99: \U0001faff"
    assert all(
        printable(chr(code)) == chr(code) for code in range(0x110000) if chr(code).isprintable()
    )


@pytest.mark.parametrize(
    ("visit", "line"),
    [(0, "T: draft, active"), (1, "T: draft, active"), (2, "T: draft (visit 2), active")],
)
def test_a_token_is_one_line_and_names_its_visit_from_the_second_on(visit: int, line: str) -> None:
    assert token_sentence("T", "draft", visit, "active") == line
