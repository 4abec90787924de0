"""What is made of two statements that saw the database at two moments: nothing is concluded from the difference."""

from __future__ import annotations

from stateous.store.gathering import Gathered


def gathered(*found: tuple[str, str | None], unreserved: tuple[str, ...] = ()) -> Gathered:
    """What follows from these answers, when no family was read and every id was asked as a token, too."""
    made = Gathered()
    made.add_taken(found, asked=[name for name, _ in found], unreserved=unreserved)
    return made


def test_a_free_id_is_free_and_an_id_in_another_case_is_taken() -> None:
    facts = gathered(("T", None), ("u", "U")).facts
    assert facts.taken == {"t": None, "u": "U"}
    assert facts.busy_tokens == set()


def test_an_id_that_is_being_started_elsewhere_is_busy_whatever_was_seen_of_it() -> None:
    facts = gathered(("T", None), ("U", "U"), ("v", "V"), unreserved=("T", "U", "v")).facts
    assert facts.busy_tokens == {"T", "U", "v"}
    assert facts.taken == {}


def test_an_id_that_got_its_token_after_the_families_were_read_is_busy() -> None:
    facts = gathered(("T", "T")).facts
    assert facts.busy_tokens == {"T"}
    assert facts.taken == {}


def test_an_id_whose_token_was_read_is_its_own() -> None:
    made = Gathered()
    made.facts.roots["T"] = "T"
    made.add_taken([("T", "T")], asked=["T"], unreserved=["T"])
    assert made.facts.taken == {"t": "T"}
    assert made.facts.busy_tokens == set()


def test_ids_of_children_are_only_looked_up() -> None:
    made = Gathered()
    made.add_taken([("p.x.1.c", "p.x.1.c"), ("p.x.1.d", None)], asked=[], unreserved=())
    assert made.facts.taken == {"p.x.1.c": "p.x.1.c", "p.x.1.d": None}
