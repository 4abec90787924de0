"""Membership in a solver's words: an item of a list, a part of a string, a key of an object."""

from __future__ import annotations

from itertools import product
from typing import Final

from stateous.compiler.proof.formulas import (
    FALSE,
    TRUE,
    Formula,
    every,
    implied,
    negated,
    same,
    some,
    truth,
)
from stateous.compiler.proof.ordering import equal
from stateous.compiler.proof.script import Script
from stateous.compiler.proof.terms import ListTerm, ObjectTerm, StringTerm, Value, literal

_MOST_TEXTS: Final = 2_000
_MOST_PAIRS: Final = 2_500
_MOST_RELATED: Final = 60


def held(item: Value, container: Value, script: Script) -> Formula:
    """Whether the container holds the item: null, a number and a boolean hold nothing."""
    return some(answer for _, answer in _asked(item, container, script))


def lacked(item: Value, container: Value, script: Script) -> Formula:
    """Whether it can be asked, and the container does not hold the item."""
    return some(every((can, negated(it))) for can, it in _asked(item, container, script))


def _asked(item: Value, container: Value, script: Script) -> list[tuple[Formula, Formula]]:
    """For each kind of container: whether it is one that can be asked, and whether it holds the item."""
    found: list[tuple[Formula, Formula]] = []
    if (of := container.list) is not None:
        answer = _is_item(item, container.key, of, script)
        found.append((of.given, every((of.given, answer))))
    if (whole := container.string) is not None and item.string is not None:
        given = every((whole.given, item.string.given))
        answer = _is_part(item.string, item.key, whole, container.key, script)
        found.append((given, every((given, answer))))
    if (keys := container.object) is not None:
        answer = FALSE
        if item.string is not None:
            is_key = _is_key(item.string, item.key, keys, container.key, script)
            answer = every((keys.given, item.string.given, is_key))
        found.append((keys.given, answer))
    return found


def _is_item(item: Value, key: str, of: ListTerm, script: Script) -> Formula:
    if of.whole:
        pairs = zip(of.present, of.items, strict=True)
        return some(every((there, equal(item, each, script))) for there, each in pairs)
    answer, is_new = script.open_question("item", item.key, key)
    if is_new:
        script.require(implied(answer, of.present[0]))
    return answer


def _is_part(
    part: StringTerm, part_key: str, whole: StringTerm, key: str, script: Script
) -> Formula:
    """Whether one string lies in another: for known ones it is known, and of the others little is said."""
    if part.exact == "" or part_key == key:
        return TRUE
    if whole.longest is not None and part.exact is not None and len(part.exact) > whole.longest:
        return FALSE
    answer, is_new = script.open_question("part", part_key, key)
    if not is_new:
        return answer
    parts = script.texts if part.exact is None else [part.exact]
    if len(parts) * len(script.texts) <= _MOST_PAIRS:
        for text, of in product(parts, script.texts):
            known = every((_is(part, text, script), _is(whole, of, script)))
            script.require(implied(known, same(answer, truth(text in of))))
    if part.exact is None:
        script.require(implied(f"(= {part.term} {whole.term})", answer))
        script.require(implied(_is(part, "", script), answer))
        only_itself = every((answer, _is(whole, "", script)))
        script.require(implied(only_itself, _is(part, "", script)))
    return answer


def relate_parts(script: Script) -> None:
    """Require, once all is asked, that a part of a part is a part of the whole."""
    asked = dict(script.asked_of("part"))
    if len(asked) > _MOST_RELATED:
        return
    texts = {repr(text): text for text in script.texts}
    for ((part, of), one), ((middle, whole), other) in product(asked.items(), repeat=2):
        if of == middle and (part, whole) in asked:
            script.require(implied(every((one, other)), asked[part, whole]))
        if of == whole and part in texts and middle in texts and texts[part] in texts[middle]:
            script.require(implied(other, one))


def _is_key(name: StringTerm, name_key: str, of: ObjectTerm, key: str, script: Script) -> Formula:
    if name.exact is not None:
        if name.exact in of.objects.required:
            return TRUE
        if not of.objects.field(name.exact).kinds:
            return FALSE
    answer, is_new = script.open_question("key", name_key, key)
    if is_new:
        script.require(implied(answer, of.filled))
        if name.exact is None and len(script.texts) <= _MOST_TEXTS:
            for text in script.texts:
                known = literal(text, script)
                if known.string is not None:
                    has = _is_key(known.string, known.key, of, key, script)
                    script.require(implied(_is(name, text, script), same(answer, has)))
    return answer


def _is(string: StringTerm, text: str, script: Script) -> Formula:
    if string.exact is not None:
        return truth(string.exact == text)
    return f"(= {string.term} {script.rank(text)})"
