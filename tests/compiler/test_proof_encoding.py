"""The encoding says of a scope what the evaluator says: never less, and no more unless it left something open."""

from __future__ import annotations

from hypothesis import given, settings

from stateous.compiler.proof.encoding import Encoding
from stateous.compiler.proof.formulas import every, negated
from stateous.compiler.proof.slots import slots_of
from stateous.compiler.proof.solving import Memory, Solver
from stateous.model.guard_tree import Field, reads_of
from tests.compiler.fixed_scopes import FixedScope
from tests.compiler.random_rivals import World, comparisons, examples, worlds

_WITHIN = 60.0
_MEMORY = Memory()


def agree(world: World) -> None:
    guards = [route.guard for route in world.rivals.routes if route.guard is not None]
    trees = [guard.tree for guard in guards]
    slots = slots_of(trees, world.rivals.reading)
    encoding = Encoding(trees, slots, world.rivals.reading)
    reads = {read for tree in trees for read in reads_of(tree) if isinstance(read, Field)}
    all_is_told = not encoding.script.has_open_questions
    solver = Solver(encoding.script.text(), _MEMORY)
    for scope in world.scopes:
        fixed = FixedScope(encoding, slots, scope, reads)
        says = every(
            formula if guard.holds(scope) else negated(formula)
            for guard, formula in zip(guards, encoding.guards, strict=True)
        )
        assert solver.ask(every((fixed.formula, says)), _WITHIN)[0] == "yes"
        if all_is_told and fixed.exact:
            assert solver.ask(every((fixed.formula, negated(says))), _WITHIN)[0] == "no"


@given(world=worlds(most_guards=4, scopes=6))
@settings(max_examples=examples(150))
def test_in_every_scope_a_guard_and_its_formula_agree(world: World) -> None:
    agree(world)


@given(world=comparisons())
@settings(max_examples=examples(300))
def test_for_every_value_a_comparison_and_its_formula_agree(world: World) -> None:
    agree(world)
