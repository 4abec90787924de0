"""What a picture marks beside the workflow itself: what was found of its guards, and where tokens fail."""

from __future__ import annotations

import msgspec

from stateous.compiler.ends import FailPlace, fail_places
from stateous.compiler.proof.findings import Findings, Guarded
from stateous.model.graph import Graph, Transition


class Marks(msgspec.Struct, frozen=True, kw_only=True):
    """All marks of a picture."""

    findings: Findings = Findings()
    fails: tuple[FailPlace, ...] = ()

    def overlaps(self, workflow: str, way: Transition) -> bool:
        """Whether the transition's guard can hold together with that of a rival."""
        return any(
            (each.workflow, each.source, each.on) == (workflow, way.source, way.on)
            and (_is(each.first, way) or _is(each.second, way))
            for each in self.findings.overlaps
        )

    def never_holds(self, workflow: str, way: Transition) -> bool:
        """Whether the transition's guard holds in no case."""
        return any(
            (each.workflow, each.source, each.on) == (workflow, way.source, way.on)
            and _is(each.guard, way)
            for each in self.findings.nevers
        )


def marks_of(graph: Graph, findings: Findings | None = None) -> Marks:
    """Return the marks of a graph; what is to be found of its guards is proved unless it is given."""
    if findings is None:
        # They need most of the compiler, which a picture without them does not.
        from stateous.compiler.proof.proving import prove  # noqa: PLC0415
        from stateous.compiler.proof.rival_groups import rivals_of_graph  # noqa: PLC0415

        findings = prove(rivals_of_graph(graph))
    return Marks(findings=findings, fails=fail_places(graph))


def _is(guarded: Guarded, way: Transition) -> bool:
    return (guarded.target, guarded.when) == (way.target, way.when)
