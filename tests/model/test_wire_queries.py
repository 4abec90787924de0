"""What stands outside the body: queries, task numbers in paths, the idempotency key."""

from __future__ import annotations

import pytest

from stateous.model.refusals import InvalidArgument, InvalidPayload, NotFound, TaskNotFound
from stateous.model.wire.query import (
    idempotency_key,
    limit_asked,
    parent_asked,
    part_asked,
    read_query,
    status_asked,
    task_id,
)

ARABIC_SEVEN = "\u0667"


def test_of_a_repeated_parameter_the_last_counts() -> None:
    assert read_query(b"limit=1&status=active&limit=2&other") == {
        "limit": "2",
        "status": "active",
        "other": "",
    }


def test_a_query_is_read_whatever_its_bytes() -> None:
    assert read_query(b"a=%zz&b=%ff&\xff=\xfe&=&&%00=%00")["b"] == "\ufffd"
    assert read_query(b"") == {}


@pytest.mark.parametrize("status", ["active", "paused", "completed", "failed", "cancelled"])
def test_the_five_statuses_may_be_asked_for(status: str) -> None:
    assert status_asked({"status": status}) == status


@pytest.mark.parametrize("status", ["", "Active", "queued", "active ", "\0"])
def test_another_status_is_refused(status: str) -> None:
    with pytest.raises(InvalidArgument):
        status_asked({"status": status})


@pytest.mark.parametrize(("digits", "limit"), [("1", 1), ("1000", 1000), ("007", 7)])
def test_a_limit_is_1_to_1000(digits: str, limit: int) -> None:
    assert limit_asked({"limit": digits}) == limit


@pytest.mark.parametrize(
    "digits",
    ["", "0", "1001", "-1", "+1", "1.0", "1e2", " 1", "1_0", "x", ARABIC_SEVEN, "9" * 5000],
)
def test_another_limit_is_refused(digits: str) -> None:
    with pytest.raises(InvalidArgument):
        limit_asked({"limit": digits})


def test_without_parameters_all_have_their_defaults() -> None:
    assert (status_asked({}), limit_asked({}), parent_asked({}), part_asked({})) == (
        None,
        100,
        None,
        (0, None),
    )


def test_a_parent_has_1_to_128_characters() -> None:
    assert parent_asked({"parent": "é" * 128}) == "é" * 128
    for parent in ("", "x" * 129, "x\0"):
        with pytest.raises(InvalidArgument):
            parent_asked({"parent": parent})


def test_a_part_of_a_history_is_asked_for_by_numbers() -> None:
    assert part_asked({"after": "0", "limit": "5"}) == (0, 5)
    assert part_asked({"after": "9223372036854775807"}) == (2**63 - 1, None)
    for query in ({"after": "-1"}, {"after": ""}, {"limit": "0"}, {"after": "9223372036854775808"}):
        with pytest.raises(InvalidArgument):
            part_asked(query)


@pytest.mark.parametrize(
    ("segment", "task"),
    [("1", 1), ("007", 7), ("0", 0), ("0" * 5000 + "7", 7), (str(2**63 - 1), 2**63 - 1)],
)
def test_a_task_is_named_by_digits(segment: str, task: int) -> None:
    assert task_id(segment) == task


@pytest.mark.parametrize("segment", ["-1", "1.0", "x", "+1", " 1", "1_0", ARABIC_SEVEN, "1\0", "²"])
def test_another_name_of_a_task_is_no_path(segment: str) -> None:
    with pytest.raises(NotFound):
        task_id(segment)


@pytest.mark.parametrize("segment", [str(2**63), "9" * 19, "1" + "0" * 19, "9" * 10_000])
def test_a_number_beyond_63_bits_is_no_task(segment: str) -> None:
    with pytest.raises(TaskNotFound):
        task_id(segment)


def test_a_key_is_its_bytes_one_by_one() -> None:
    assert idempotency_key([(b"idempotency-key", b"\xc3\xa9 1")]) == "Ã© 1"
    assert idempotency_key([(b"idempotency-key", b"\x80\xff")]) == "\x80\xff"
    assert idempotency_key([(b"idempotency-key", b"k" * 256)]) == "k" * 256
    assert idempotency_key([(b"host", b"x")]) is None


def test_spaces_around_a_key_are_not_part_of_it() -> None:
    assert idempotency_key([(b"idempotency-key", b" a b\t ")]) == "a b"


def test_of_a_repeated_key_the_last_counts() -> None:
    assert idempotency_key([(b"idempotency-key", b""), (b"idempotency-key", b"two")]) == "two"


@pytest.mark.parametrize("key", [b"", b" ", b"k" * 257, b"a\tb", b"a\0", b"\x7f", b"\x1f"])
def test_another_key_is_refused(key: bytes) -> None:
    with pytest.raises(InvalidPayload):
        idempotency_key([(b"idempotency-key", key)])
