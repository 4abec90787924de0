"""Solving: z3 is asked whether a script can be made true, within a time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, Literal, cast

import z3  # pyright: ignore[reportMissingTypeStubs]

from stateous.compiler.proof.formulas import Formula

Answer = Literal["yes", "no", "unknown"]
Model = Mapping[str, bool | Fraction]
"""What the solver chose for each constant; those that do not matter are missing."""

_z3: Any = z3  # it says nothing of its types

_NAME: Final = re.compile(r"\b[bir][0-9]+\b")

# z3 counts its work, too, and minds that where it forgets the time: it does up to this much in a second.
_WORK_A_SECOND: Final = 5_000_000


class Memory:
    """What z3 keeps while it solves.

    Its choices depend on all that it has seen: proofs that begin with a memory of their own find the same
    each time. To make one takes as long as several proofs.
    """

    def __init__(self) -> None:
        self.context: Any = _z3.Context()


class Solver:
    """A script, and questions about it: each is asked with all that was added, and without the others."""

    def __init__(self, script: str, memory: Memory) -> None:
        self._context = memory.context
        self._solver: Any = _z3.SimpleSolver(ctx=self._context)
        self._solver.add(_z3.parse_smt2_string(script, ctx=self._context))

    def add(self, formula: Formula) -> None:
        """Require one thing more."""
        self._solver.add(_z3.parse_smt2_string(_declaring(formula), ctx=self._context))

    def ask(self, formula: Formula, within: float) -> tuple[Answer, Model]:
        """Whether the formula can be true, asked for at most so many seconds; and how, if it can."""
        solver = self._solver
        solver.push()
        try:
            self.add(formula)
            solver.set("timeout", max(1, round(within * 1000)))
            solver.set("rlimit", max(1, round(within * _WORK_A_SECOND)))
            found = solver.check()
            if found == _z3.unsat:
                return "no", {}
            model = _read(solver.model()) if found == _z3.sat else None
            return ("unknown", {}) if model is None else ("yes", model)
        except _z3.Z3Exception:  # such as for want of memory
            return "unknown", {}
        finally:
            solver.pop()


def _declaring(formula: Formula) -> str:
    """A script of one requirement, with the constants that it names, which are those of the whole."""
    sorts = {"b": "Bool", "i": "Int", "r": "Real"}
    names = dict.fromkeys(_NAME.findall(formula))
    declared = "".join(f"(declare-const {name} {sorts[name[0]]})" for name in names)
    return f"{declared}(assert {formula})"


def _read(model: Any) -> Model | None:
    """What was chosen; None when a number has more digits than Python reads."""
    values: dict[str, bool | Fraction] = {}
    for declared in model.decls():
        value = model[declared]
        name = cast("str", declared.name())
        if name[0] == "b":
            values[name] = bool(_z3.is_true(value))
            continue
        try:
            values[name] = Fraction(value.as_long() if name[0] == "i" else value.as_fraction())
        except ValueError:
            return None
    return values
