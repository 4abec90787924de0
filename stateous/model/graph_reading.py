"""Reading a graph file: every rule that a document must keep before it is served (docs/graph-file.md)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final, Literal, cast

from stateous.model.durations import parse_duration
from stateous.model.graph import Event, Flow, Graph, InvalidGraph, State, Transition
from stateous.model.guards import GuardError, parse_guard
from stateous.model.names import END, JOINED, OWN_EVENTS, ROUTED_OWN_EVENTS, START
from stateous.model.schemas import Models, SchemaError
from stateous.model.state_logs import BUILT_IN, StateLog, state_log_problem

Json = Any
Document = dict[str, Json]

FORMAT: Final = 1

OPTIONS_OF_WORK: Final = frozenset({"timeout", "retries", "state_log"})
"""What a state says about how its work is done; a change of these moves no token differently."""

_SHOWN: Final = 60
_LONGEST_NAME: Final = 128


def read_graph(document: object) -> Graph:
    """Return the graph; raises InvalidGraph with one sentence."""
    try:
        return _read(document)
    except RecursionError as error:
        sentence = "the graph's objects and lists lie too deep inside each other"
        raise InvalidGraph(sentence) from error


def _read(document: object) -> Graph:
    whole = _object(document, "the graph")
    version = _required(whole, "stateous", "the graph")
    if type(version) is not int or version != FORMAT:
        raise InvalidGraph(
            f"the graph's file format is {_shown(version)}, and this version of Stateous reads {FORMAT}"
        )
    main = _name(_required(whole, "workflow", "the graph"), "the graph's 'workflow'")
    schemas = _object(_required(whole, "schemas", "the graph"), "'schemas'")
    children = _object(_optional(whole, "workflows", {}), "'workflows'")
    if main in children:
        raise InvalidGraph(f"two workflows have the name {_shown(main)}")
    models = Models(schemas)
    readers = {main: _Reader(main, whole, models, frozenset(children))}
    for name, child in children.items():
        _name(name, "a name in 'workflows'")
        child_document = _object(child, f"workflow {_shown(name)}")
        readers[name] = _Reader(name, child_document, models, frozenset(children))
    flows = {name: reader.flow() for name, reader in readers.items()}
    return Graph(
        workflow=main,
        flows=flows,
        models=models,
        document=whole,
        checksum=_hashed(whole),
        structure=_hashed(_structure(whole)),
    )


class _Reader:
    """Reads one workflow of the file."""

    def __init__(
        self, name: str, document: Document, models: Models, children: frozenset[str]
    ) -> None:
        self.name = name
        self.document = document
        self.models = models
        self.children = children
        self.place = f"workflow {_shown(name)}"
        self.state_names: frozenset[str] = frozenset()
        self.event_names: frozenset[str] = frozenset()

    def flow(self) -> Flow:
        states = _object(
            _required(self.document, "states", self.place), f"'states' of {self.place}"
        )
        events = _object(
            _required(self.document, "events", self.place), f"'events' of {self.place}"
        )
        transitions = _required(self.document, "transitions", self.place)
        if not isinstance(transitions, list):
            raise InvalidGraph(f"'transitions' of {self.place} must be a list")
        self.state_names, self.event_names = frozenset(states), frozenset(events)
        read_events = {name: self._event(name, event) for name, event in events.items()}
        read_states = {name: self._state(name, state) for name, state in states.items()}
        starts: list[Transition] = []
        routed: dict[tuple[str, str], list[Transition]] = {}
        for number, each in enumerate(cast("list[object]", transitions), start=1):
            transition = self._transition(each, f"transition {number} of {self.place}")
            if transition.on is None:
                starts.append(transition)
            else:
                routed.setdefault((transition.source, transition.on), []).append(transition)
        return Flow(
            workflow=self.name,
            context=self._model(self.document, "context", self.place),
            states=read_states,
            events=read_events,
            starts=tuple(starts),
            routed={way: tuple(found) for way, found in routed.items()},
        )

    def _event(self, name: str, event: object) -> Event:
        place = f"event {_shown(name)} of {self.place}"
        _name(name, f"an event of {self.place}")
        if name in OWN_EVENTS:
            raise InvalidGraph(f"{place} has a name that Stateous keeps for its own events")
        return Event(name=name, payload=self._model(_object(event, place), "payload", place))

    def _state(self, name: str, state: object) -> State:
        place = f"state {_shown(name)} of {self.place}"
        _name(name, f"a state of {self.place}")
        if name in (START, END):
            raise InvalidGraph(f"{place} has a name that Stateous keeps for itself")
        if "/" in name:
            raise InvalidGraph(f"the name of {place} must not hold a '/'")
        settings = _object(state, place)
        parallel = self._parallel(settings, place)
        if not parallel:
            _required(settings, "emits", place)
        return State(
            name=name,
            emits=self._emits(settings, place),
            timeout=self._timeout(settings, place),
            retries=self._retries(settings, place),
            parallel=parallel,
            join=self._join(settings, place),
            inputs=_names(_optional(settings, "inputs", []), f"'inputs' of {place}"),
            state_log=self._state_log(settings, place, runs_workflows=bool(parallel)),
            children=self._children(settings, place, parallel=parallel),
        )

    def _state_log(
        self, settings: Document, place: str, *, runs_workflows: bool
    ) -> StateLog | None:
        given = _optional(settings, "state_log")
        if given is None:
            return None
        log = _object(given, f"'state_log' of {place}")
        if runs_workflows:
            raise InvalidGraph(f"{place} runs workflows and has no task, so it takes no state log")
        handler = _optional(log, "handler", BUILT_IN)
        scope = _optional(log, "scope", "element")
        options = _optional(log, "options", {})
        problem = state_log_problem(handler, scope, options)
        if problem is not None:
            raise InvalidGraph(f"the state log of {place}: {problem}")
        return StateLog(handler=handler, scope=scope, options=options)

    def _parallel(self, settings: Document, place: str) -> tuple[str, ...]:
        return self._workflows(settings, "parallel", place)

    def _children(
        self, settings: Document, place: str, *, parallel: tuple[str, ...]
    ) -> tuple[str, ...]:
        children = self._workflows(settings, "children", place)
        if children and parallel:
            raise InvalidGraph(f"{place} is parallel and has no routine, so it takes no 'children'")
        return children

    def _workflows(self, settings: Document, key: str, place: str) -> tuple[str, ...]:
        children = _names(_optional(settings, key, []), f"'{key}' of {place}")
        for child in children:
            if child not in self.children:
                raise InvalidGraph(
                    f"{place} runs the workflow {_shown(child)}, which is not in 'workflows'"
                )
        if len(set(children)) < len(children):
            raise InvalidGraph(f"{place} runs a workflow twice")
        return children

    def _emits(self, settings: Document, place: str) -> tuple[str, ...]:
        emits = _names(_optional(settings, "emits", []), f"'emits' of {place}")
        for event in emits:
            if event not in self.event_names:
                raise InvalidGraph(
                    f"{place} emits {_shown(event)}, which is no event of the workflow"
                )
        return emits

    def _timeout(self, settings: Document, place: str) -> timedelta | None:
        timeout = _optional(settings, "timeout")
        if timeout is None:
            return None
        try:
            return parse_duration(timeout)
        except ValueError as error:
            raise InvalidGraph(f"'timeout' of {place}: {error}") from error

    def _retries(self, settings: Document, place: str) -> int:
        retries = _optional(settings, "retries", 0)
        if type(retries) is not int or retries < 0:
            raise InvalidGraph(f"'retries' of {place} must be a whole number, 0 or more")
        return retries

    def _join(self, settings: Document, place: str) -> Literal["all", "any"]:
        match _optional(settings, "join", "all"):
            case "all":
                return "all"
            case "any":
                return "any"
            case other:
                raise InvalidGraph(f"'join' of {place} must be 'all' or 'any', not {_shown(other)}")

    def _model(self, holder: Document, key: str, place: str) -> str | None:
        model = _optional(holder, key)
        if model is None:
            return None
        if not isinstance(model, str) or model not in self.models:
            raise InvalidGraph(
                f"'{key}' of {place} is {_shown(model)}, which is no model in 'schemas'"
            )
        try:
            self.models.prepare(model)
        except SchemaError as error:
            raise InvalidGraph(str(error)) from error
        return model

    def _transition(self, each: object, place: str) -> Transition:
        settings = _object(each, place)
        source, target = (
            _name(_required(settings, key, place), f"'{key}' of {place}") for key in ("from", "to")
        )
        if source != START and source not in self.state_names:
            raise InvalidGraph(f"{place} leaves {_shown(source)}, which is no state")
        if target != END and target not in self.state_names:
            raise InvalidGraph(f"{place} leads to {_shown(target)}, which is no state")
        on = self._on(settings, source, place)
        when = _optional(settings, "when")
        if when is not None and not isinstance(when, str):
            raise InvalidGraph(f"'when' of {place} must be a string")
        otherwise = _optional(settings, "otherwise", default=False)
        if not isinstance(otherwise, bool):
            raise InvalidGraph(f"'otherwise' of {place} must be true or false")
        if when is not None and otherwise:
            raise InvalidGraph(f"{place} has 'when' and 'otherwise'")
        try:
            guard = None if when is None else parse_guard(when, joined=on == JOINED)
        except GuardError as error:
            raise InvalidGraph(f"{place}: {error}") from error
        return Transition(source=source, target=target, on=on, when=when, guard=guard)

    def _on(self, settings: Document, source: str, place: str) -> str | None:
        if source == START:
            if _optional(settings, "on") is not None:
                raise InvalidGraph(f"{place} leaves {START} and must not have 'on'")
            return None
        on = _required(settings, "on", place)
        if not isinstance(on, str) or (on not in self.event_names and on not in ROUTED_OWN_EVENTS):
            raise InvalidGraph(
                f"{place} is taken on {_shown(on)}, which is no event of the workflow"
            )
        return on


def _required(holder: Document, key: str, place: str) -> Json:
    if key not in holder:
        raise InvalidGraph(f"{place} lacks '{key}'")
    return holder[key]


def _optional(holder: Document, key: str, default: Json = None) -> Json:
    """The value of an optional key. Files of other compilers may write null for what is not set."""
    value = holder.get(key)
    return default if value is None else value


def _object(value: object, place: str) -> Document:
    if not isinstance(value, dict):
        raise InvalidGraph(f"{place} must be an object")
    return cast("Document", value)


def _name(value: object, place: str) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= _LONGEST_NAME:
        raise InvalidGraph(f"{place} must be a name of 1 to {_LONGEST_NAME} characters")
    if not value.isprintable():
        raise InvalidGraph(f"{place} must not hold characters that cannot be printed")
    return value


def _names(value: object, place: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InvalidGraph(f"{place} must be a list of names")
    items = cast("list[object]", value)
    if not all(isinstance(item, str) for item in items):
        raise InvalidGraph(f"{place} must be a list of names")
    return tuple(cast("list[str]", items))


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:
        return "a number of too many digits"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _structure(document: Document) -> Document:
    """The document without the options that only say how work is done."""
    children: Mapping[str, Document] = _optional(document, "workflows", {})
    structure = {**document, "states": _without_options(document["states"])}
    if children:
        structure["workflows"] = {
            name: {**child, "states": _without_options(child["states"])}
            for name, child in children.items()
        }
    return structure


def _without_options(states: Mapping[str, Document]) -> Document:
    return {
        name: {key: value for key, value in state.items() if key not in OPTIONS_OF_WORK}
        for name, state in states.items()
    }


def _hashed(document: Document) -> str:
    try:
        written = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    except ValueError as error:
        raise InvalidGraph("the graph has a number of too many digits") from error
    return "sha256:" + hashlib.sha256(written.encode("ascii")).hexdigest()
