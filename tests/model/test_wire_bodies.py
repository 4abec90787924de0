"""Bodies: what reads as JSON, how deep it may be, and what is refused before anybody looks inside."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateous.model.refusals import BadRequest, InvalidBody, InvalidPayload
from stateous.model.wire.body import DEEPEST, Body, holds_nul, read_body

UNREADABLE = {
    "not JSON": b"{",
    "two values": b"{} {}",
    "a trailing comma": b'{"a": 1,}',
    "a comment": b"/**/{}",
    "a byte order mark": b"\xef\xbb\xbf{}",
    "NaN": b'{"a": NaN}',
    "Infinity": b'{"a": -Infinity}',
    "beyond a double": b'{"a": 1e999}',
    "an integer beyond a double, as a float": b'{"a": ' + b"9" * 400 + b".0}",
    "4,301 digits": b'{"a": ' + b"9" * 4301 + b"}",
    "a high surrogate alone": b'{"a": "\\ud800"}',
    "a high surrogate before a letter": b'{"a": "\\ud800x"}',
    "a low surrogate alone": b'{"a": "\\udc00"}',
    "surrogates the wrong way round": b'{"a": "\\ude00\\ud83d"}',
    "a surrogate in a key": b'{"\\ud800": 1}',
    "a surrogate in UTF-8": b'{"a": "\xed\xa0\x80"}',
    "bad UTF-8": b'{"a": "\xff"}',
    "a raw control character": b'{"a": "\n"}',
    "a raw NUL": b'{"a": "\0"}',
}


@pytest.mark.parametrize("raw", UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_not_json_as_we_want_it_is_a_bad_request(raw: bytes) -> None:
    with pytest.raises(BadRequest):
        read_body(raw)


@pytest.mark.parametrize("raw", [b"", b" ", b"\r\n\t "])
def test_nothing_is_an_empty_object(raw: bytes) -> None:
    assert read_body(raw).fields == {}


@pytest.mark.parametrize("raw", [b"null", b"[]", b"1", b'"x"', b"true", b"1.5"])
def test_json_that_is_no_object_has_the_wrong_shape(raw: bytes) -> None:
    with pytest.raises(InvalidBody):
        read_body(raw)


def test_numbers_stay_what_they_are() -> None:
    digits = "9" * 400
    read = read_body(b'{"big": %s, "float": 1.0, "power": 1e16}' % digits.encode()).fields
    assert read == {"big": int(digits), "float": 1.0, "power": 1e16}
    assert [type(value) for value in read.values()] == [int, float, float]
    assert read_body(b'{"a": ' + b"9" * 4300 + b"}").fields == {"a": 10**4300 - 1}


def test_a_repeated_field_counts_with_its_last_value() -> None:
    assert read_body(b'{"a": 1, "a": 2}').fields == {"a": 2}


def nested(levels: int) -> bytes:
    """A body of so many levels."""
    return b'{"a":' * (levels - 1) + b"{}" + b"}" * (levels - 1)


@pytest.mark.parametrize("levels", [1, 2, 63, DEEPEST])
def test_64_levels_are_read(levels: int) -> None:
    assert read_body(nested(levels)).fields is not None


@pytest.mark.parametrize("levels", [DEEPEST + 1, 100, 900, 5_000, 100_000])
def test_65_levels_are_a_bad_request(levels: int) -> None:
    with pytest.raises(BadRequest):
        read_body(nested(levels))


def test_scalars_are_no_level() -> None:
    read_body(b'{"a":' + b"[" * 63 + b"1" + b"]" * 63 + b"}")


def test_many_brackets_side_by_side_are_not_deep() -> None:
    read_body(json.dumps({"a": [[[]] * 50] * 50, "b": [{}] * 1000}).encode())


def test_brackets_inside_strings_are_no_levels() -> None:
    text = "[{" * 500 + '\\"['
    assert read_body(json.dumps({"a": text, text: []}).encode()).fields == {"a": text, text: []}


documents = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=60,
)


@given(st.dictionaries(st.text(), documents, max_size=5))
def test_what_json_writes_is_read_back(document: dict[str, object]) -> None:
    assert read_body(json.dumps(document).encode()).fields == document
    assert read_body(json.dumps(document, ensure_ascii=False).encode()).fields == document


@given(st.integers(min_value=1, max_value=130), st.randoms(use_true_random=False))
def test_depth_is_counted_exactly(levels: int, chance: object) -> None:
    value: object = {}
    for _ in range(levels - 1):
        value = [value, []] if chance.random() < 0.5 else {"]}": value, "x": "[" * 70}  # type: ignore[attr-defined]
    raw = json.dumps({"a": value}).encode()
    if levels + 1 > DEEPEST:
        with pytest.raises(BadRequest):
            read_body(raw)
    else:
        read_body(raw)


def test_a_nul_is_found_wherever_it_stands() -> None:
    for raw in (
        b'{"a": "\\u0000"}',
        b'{"a": ["x", {"b": "x\\u0000"}]}',
        b'{"a": {"\\u0000": 1}}',
    ):
        body = read_body(raw)
        assert body.may_hold_nul
        assert holds_nul(body.fields)
        with pytest.raises(InvalidPayload, match="'a'"):
            body.refuse_nul(body.fields, "'a'", InvalidPayload)


def test_an_escaped_backslash_before_u0000_is_no_nul() -> None:
    body = read_body(b'{"a": "\\\\u0000"}')
    body.refuse_nul(body.fields, "'a'", InvalidPayload)
    assert body.fields == {"a": "\\u0000"}


def test_a_body_that_cannot_hold_a_nul_is_not_searched() -> None:
    Body({"a": "\0"}, may_hold_nul=False).refuse_nul("\0", "'a'", InvalidPayload)
