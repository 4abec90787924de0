"""Patterns of strings: whether a string matches one, and short strings that match simple ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from jsonschema_rs import Draft202012Validator, ValidationError

_LETTERS: Final = "ab0A1BcxyzZ9_- .@/:,;+=!?#%&*()[]{}<>|~^$'\"`\\é"
_CLASSES: Final[Mapping[str, Callable[[str], bool]]] = {
    "d": str.isdecimal,
    "w": lambda letter: letter.isalnum() or letter == "_",
    "s": str.isspace,
}
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}
_MOST_SAMPLES: Final = 8
_MOST_TIMES: Final = 100
_DEEPEST: Final = 20


@cache
def _validator(pattern: str) -> Draft202012Validator | None:
    try:
        return Draft202012Validator({"pattern": pattern})
    except ValidationError:
        return None


def may_match(pattern: str, text: str) -> bool:
    """Whether the pattern matches somewhere in a text that can be sent; True, too, when it is no pattern."""
    validator = _validator(pattern)
    return validator is None or validator.is_valid(text)


def can_be_sent(text: str) -> bool:
    """Whether JSON from outside can hold the text: no half of a surrogate pair, and no NUL."""
    return text.isprintable() or not any(
        letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in text
    )


@cache
def samples(pattern: str, shortest: int = 0) -> tuple[str, ...]:
    """A few strings that match, short ones first, of at least so many characters where a repetition allows.

    Only simple patterns are understood: characters, classes, groups, `|`, repetitions, `^` and `$`.
    Of others there are none.
    """
    try:
        found = _Pattern(pattern, min(shortest, _MOST_TIMES)).whole()
    except _NotSimple:
        return ()
    return tuple(text for text in dict.fromkeys(found) if may_match(pattern, text))


class _NotSimple(Exception):
    pass


class _Pattern:
    """Reads a pattern from left to right; each method returns samples of what it read."""

    def __init__(self, text: str, shortest: int) -> None:
        self.text = text
        self.shortest = shortest
        self.next = 0
        self.depth = 0

    def whole(self) -> list[str]:
        found = self._either()
        if self.next < len(self.text):
            raise _NotSimple
        return found

    def _peek(self) -> str:
        return self.text[self.next : self.next + 1]

    def _take(self) -> str:
        taken = self._peek()
        if not taken:
            raise _NotSimple
        self.next += 1
        return taken

    def _either(self) -> list[str]:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _NotSimple
        found = [self._sequence()]
        while self._peek() == "|":
            self._take()
            found.append(self._sequence())
        self.depth -= 1
        return sorted((text for each in found for text in each), key=len)[:_MOST_SAMPLES]

    def _sequence(self) -> list[str]:
        found = [""]
        while (letter := self._peek()) and letter not in "|)":
            if letter in "^$":
                self._take()
                continue
            items = self._repeated(self._item())
            # The first of each, then one of the others at a time.
            longer = [found[0] + item for item in items]
            found = [*longer[:1], *(text + items[0] for text in found[1:]), *longer[1:]]
            found = found[:_MOST_SAMPLES]
        return found

    def _item(self) -> list[str]:
        letter = self._take()
        match letter:
            case "(":
                if self._peek() == "?":
                    self._take()
                    if self._take() != ":":
                        raise _NotSimple
                found = self._either()
                if self._take() != ")":
                    raise _NotSimple
                return found
            case "[":
                return self._class()
            case ".":
                return list(_LETTERS[:_MOST_SAMPLES])
            case "\\":
                return self._escaped()[:_MOST_SAMPLES]
            case "*" | "+" | "?" | "{":
                raise _NotSimple
            case _:
                return [letter]

    def _escaped(self) -> list[str]:
        """The letters that the escape stands for, of those that are tried."""
        letter = self._take()
        if letter.lower() in _CLASSES:
            fits = _CLASSES[letter.lower()]
            return [each for each in _LETTERS if fits(each) is letter.islower()]
        if letter in _CONTROLS:
            return [_CONTROLS[letter]]
        if letter.isalnum():
            raise _NotSimple
        return [letter]

    def _class(self) -> list[str]:
        negative = self._peek() == "^"
        if negative:
            self._take()
        letters: dict[str, None] = {}
        while (letter := self._take()) != "]":
            if letter == "[":
                raise _NotSimple
            chosen = self._escaped() if letter == "\\" else [letter]
            if len(chosen) == 1 and self._peek() == "-" and self.text[self.next + 1 :][:1] != "]":
                self._take()
                last = self._take()
                last = self._escaped()[0] if last == "\\" else last
                inside = [each for each in _LETTERS if chosen[0] <= each <= last]
                chosen = [*inside, chosen[0], last]
            letters.update(dict.fromkeys(chosen))
        if negative:
            letters = {each: None for each in _LETTERS if each not in letters}
        if not letters:
            raise _NotSimple
        return list(letters)[:_MOST_SAMPLES]

    def _repeated(self, items: list[str]) -> list[str]:
        least, most = self._times()
        if least > _MOST_TIMES:
            raise _NotSimple
        counts = dict.fromkeys((least, least + 1, self.shortest))
        return [
            item * count
            for count in counts
            if least <= count <= most
            for item in (items if count else [""])
        ][:_MOST_SAMPLES]

    def _times(self) -> tuple[int, int]:
        """How often the item stands: at least, at most."""
        bounds = {"?": (0, 1), "*": (0, _MOST_TIMES), "+": (1, _MOST_TIMES)}.get(self._peek())
        if bounds is not None:
            self._take()
        elif self._peek() == "{":
            inside, closed, _ = self.text[self.next + 1 :].partition("}")
            least, comma, most = inside.partition(",")
            if not closed or not least.isdecimal() or not (most or "0").isdecimal():
                raise _NotSimple
            self.next += len(inside) + 2
            last = most if comma else least
            bounds = int(least), int(last) if last else _MOST_TIMES
        else:
            return 1, 1
        if self._peek() in ("?", "+"):
            self._take()
        return bounds
