"""docs/contract.md is right: the schema that it shows is the one that is given, and answers are told as it says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from stateous import BadAnswer
from tests.compiler.contracts import GRAPH, contract_module

PAGE = (Path(__file__).parents[2] / "docs" / "contract.md").read_text(encoding="utf-8")
ANSWERS = re.findall(r"^\| `([{\[].*)` \| (.*) \|$", PAGE, re.MULTILINE)


def test_the_schema_is_the_one_that_an_agent_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    it = contract_module(GRAPH, monkeypatch)
    assert [json.loads(text) for text in shown] == [it.states.review.outcome_schema()]


@pytest.mark.parametrize(("answer", "sentence"), ANSWERS)
def test_an_answer_is_told_in_this_sentence(
    answer: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadAnswer) as caught:
        contract_module(GRAPH, monkeypatch).states.review.outcome(answer)
    assert str(caught.value) == sentence


def test_the_page_has_answers() -> None:
    assert len(ANSWERS) == 4
