"""Lines of letters: each task's in order and never in two requests at a time, within the room of a request."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from stateous_supervisor.fates import Fate
from stateous_supervisor.lines import Letter, Lines
from stateous_supervisor.outbox_file import Message
from stateous_supervisor.post import room_for


class Sender:
    fate: Fate | None = None

    def settled(self, message: Message, fate: Fate, /) -> None: ...


ONE, OTHER = Sender(), Sender()
EMPTY = room_for(Message(seq=0, id="", task=1, token="A", kind="note", body=b""))


def letter(seq: int, task: int, *, sender: Sender = ONE, size: int = 0) -> Letter:
    body = b"x" * size
    return Letter(
        Message(seq=seq, id=f"m-{seq}", task=task, token="A", kind="note", body=body), sender
    )


def lines_of(*letters: Letter) -> Lines:
    lines = Lines()
    for each in letters:
        lines.add(each)
    return lines


def seqs(letters: Sequence[Letter]) -> list[int]:
    return [each.message.seq for each in letters]


def take(lines: Lines, *, most: int = 100, room: int = 10_000) -> list[int]:
    return seqs(lines.take(most=most, room=room))


def test_a_request_takes_the_lines_one_after_the_other() -> None:
    lines = lines_of(letter(1, 7), letter(2, 8), letter(3, 7), letter(4, 9))
    assert take(lines) == [1, 3, 2, 4]
    assert not lines.is_ready


def test_a_line_that_is_out_waits_until_it_is_back() -> None:
    lines = lines_of(letter(1, 7), letter(2, 8))
    assert take(lines, most=1) == [1]
    lines.add(letter(3, 7))
    assert take(lines) == [2]
    assert not lines.is_ready
    lines.put_back(7)
    assert take(lines) == [3]
    for task in (7, 8):
        lines.put_back(task)
    assert not lines.is_ready


def test_what_comes_back_unanswered_stands_at_the_head() -> None:
    lines = lines_of(letter(1, 7), letter(2, 7))
    out = lines.take(most=2, room=1000)
    lines.add(letter(3, 7))
    lines.put_back(7, out)
    assert take(lines) == [1, 2, 3]


def test_a_request_has_so_many_letters_at_most() -> None:
    lines = lines_of(*(letter(n, 7) for n in range(5)), letter(5, 8))
    assert take(lines, most=3) == [0, 1, 2]
    assert take(lines, most=3) == [5]  # the rest of 7 waits for the answers
    lines.put_back(7)
    assert take(lines, most=3) == [3, 4]


def test_a_request_has_room_for_so_many_bytes() -> None:
    lines = lines_of(letter(1, 7, size=10), letter(2, 8, size=10), letter(3, 9, size=10))
    assert take(lines, room=2 * (EMPTY + 10)) == [1, 2]
    assert take(lines, room=2 * (EMPTY + 10)) == [3]
    lines = lines_of(letter(1, 7, size=10), letter(2, 7, size=10), letter(3, 8, size=10))
    assert take(lines, room=EMPTY + 10) == [1]
    assert take(lines, room=EMPTY + 10) == [3]


def test_a_letter_that_is_larger_than_a_request_goes_alone() -> None:
    lines = lines_of(letter(1, 7, size=5000), letter(2, 8))
    assert take(lines, room=1000) == [1]
    assert take(lines, room=1000) == [2]


def test_a_line_that_ends_gives_back_what_waited() -> None:
    lines = lines_of(letter(1, 7), letter(2, 7))
    assert take(lines, most=1) == [1]
    assert seqs(lines.close(7)) == [2]
    lines.add(letter(3, 7))  # another attempt's
    assert take(lines) == [3]


@pytest.mark.parametrize("is_out", [False, True])
def test_what_one_sender_has_in_a_line_is_withdrawn(*, is_out: bool) -> None:
    lines = lines_of(letter(1, 7), letter(2, 7, sender=OTHER), letter(3, 7))
    if is_out:
        assert take(lines, most=1) == [1]
    assert seqs(lines.withdraw(7, ONE)) == ([3] if is_out else [1, 3])
    if is_out:
        lines.put_back(7)
    assert take(lines) == [2]


def test_a_line_of_which_all_is_withdrawn_is_gone() -> None:
    lines = lines_of(letter(1, 7))
    assert seqs(lines.withdraw(7, ONE)) == [1]
    assert seqs(lines.withdraw(7, ONE)) == []
    assert not lines.is_ready
    lines.add(letter(2, 7))
    assert take(lines) == [2]


def test_a_line_that_is_out_may_be_withdrawn_whole_and_come_back() -> None:
    lines = lines_of(letter(1, 7), letter(2, 7))
    assert take(lines, most=1) == [1]
    assert seqs(lines.withdraw(7, ONE)) == [2]
    lines.put_back(7)
    assert not lines.is_ready
