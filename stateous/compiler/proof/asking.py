"""Asking: what the tried cases do not show of the guards of some rivals is asked of a solver."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Final

from stateous.compiler.proof.decoding import Decoder
from stateous.compiler.proof.encoding import Encoding
from stateous.compiler.proof.evidence import MOST_OVERLAPS, Evidence, Pair
from stateous.compiler.proof.formulas import TRUE, Formula, every, negated
from stateous.compiler.proof.limits import Limits
from stateous.compiler.proof.rivals import Rivals
from stateous.compiler.proof.slots import Slots
from stateous.compiler.proof.solving import Answer, Memory, Solver
from stateous.compiler.proof.trying import Trials

_MOST_ASKED: Final = 30
_MOST_TRIED: Final = 150


class Asking:
    """A solver that knows some rivals. A case that it finds is put to the real guards, as evidence.

    Raises TooLong when they are too long for it.
    """

    def __init__(
        self,
        rivals: Rivals,
        slots: Slots,
        trials: Trials,
        evidence: Evidence,
        *,
        limits: Limits,
        memory: Memory,
    ) -> None:
        self._slots = slots
        self._trials = trials
        self._evidence = evidence
        self._limits = limits
        self._encoding = Encoding([it.tree for it in evidence.guards], slots, rivals.reading)
        self._guards: list[Formula] = self._encoding.guards
        self._solver = Solver(self._encoding.script.text(), memory)

    def can_hold(self, guard: int) -> Answer:
        """Whether a guard ever holds."""
        return self._answer(self._guards[guard], lambda: guard in self._evidence.holds)

    def can_fall_through(self) -> Answer:
        """Whether there is a case in which no guard holds."""
        none = every(negated(guard) for guard in self._guards)
        return self._answer(none, lambda: self._evidence.gap is not None)

    def undecided_pairs(self, guards: list[int]) -> list[Pair]:
        """Find all pairs of these guards that can both hold; return those of which it stays unknown."""
        pairs = self._evidence.pairs
        while (known := len(pairs)) < MOST_OVERLAPS:
            answer = self._answer(self._another_pair(), lambda known=known: len(pairs) > known)
            if answer == "unknown":
                return self._one_by_one(guards)
            if answer == "no":
                break
        return []

    def _one_by_one(self, guards: list[int]) -> list[Pair]:
        pairs, undecided = self._evidence.pairs, list[Pair]()
        for pair in combinations(guards, 2):
            if len(undecided) + len(pairs) >= MOST_OVERLAPS:
                break
            if pair not in pairs:
                both = every(self._guards[guard] for guard in pair)
                if self._answer(both, lambda pair=pair: pair in pairs) == "unknown":
                    undecided.append(pair)
        return undecided

    def _another_pair(self) -> Formula:
        """Two guards hold, and no two of which it is known."""
        known = (every(self._guards[guard] for guard in pair) for pair in self._evidence.pairs)
        return every((self._encoding.two_hold, *map(negated, known)))

    def _answer(self, formula: Formula, is_seen: Callable[[], bool]) -> Answer:
        """Whether the formula can be true: "yes" only when a case was seen that shows it.

        After a case that shows nothing the solver is asked for another one, first for one of plain values.
        """
        until = self._limits.for_a_question()
        plain, others = TRUE, list[Formula]()
        for _ in range(_MOST_ASKED):
            left = until - self._limits.clock()
            if left <= 0:
                break
            answer, model = self._solver.ask(every((formula, plain, *others)), left)
            if answer == "yes":
                decoder = Decoder(self._encoding, self._slots, model)
                if self._try(decoder, is_seen, until):
                    return "yes"
                if lemmas := list(decoder.lemmas()):
                    for lemma in lemmas:
                        self._solver.add(lemma)
                else:
                    plain = TRUE if others else self._encoding.plain
                    others.append(decoder.another())
            elif not others:
                return answer
            elif plain != TRUE:
                plain = TRUE
            else:
                break
        return "unknown"

    def _try(self, decoder: Decoder, is_seen: Callable[[], bool], until: float) -> bool:
        try:
            case = decoder.case()
        except LookupError:
            return False
        for near in self._trials.near(case, _MOST_TRIED):
            if self._evidence.look(near) and is_seen():
                return True
            if self._limits.clock() > until:
                break
        return False
