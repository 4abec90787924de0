"""The folder of a supervisor: each way in which its files can be wrong has one sentence."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stateous import BadPropagator, TraceContextPropagator
from stateous.client import Health
from stateous_supervisor.doubts import doubts
from stateous_supervisor.folder import (
    BadFolder,
    Contract,
    check_contract,
    read_contract,
    read_settings,
)
from stateous_supervisor.routine import BadRoutines
from stateous_supervisor.routines import find_routines, load_routine

URL = "http://127.0.0.1:8080"


def settings_of(folder: Path, text: str) -> str:
    """The sentence with which these settings are refused, without the path."""
    (folder / "stateous.yaml").write_text(text)
    with pytest.raises(BadFolder) as caught:
        read_settings(folder)
    return str(caught.value).replace(str(folder), "F")


def test_settings_have_defaults(tmp_path: Path) -> None:
    (tmp_path / "stateous.yaml").write_text(f"url: {URL}\n")
    settings = read_settings(tmp_path)
    assert (settings.url, settings.tasks, settings.name) == (URL, 4, socket.gethostname())


def test_settings_are_read(tmp_path: Path) -> None:
    (tmp_path / "stateous.yaml").write_text(f"url: {URL}\ntasks: 64\nname: build-box-1\n")
    settings = read_settings(tmp_path)
    assert (settings.tasks, settings.name) == (64, "build-box-1")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "F/stateous.yaml must say url, and may say tasks and name"),
        ("- url", "F/stateous.yaml must say url, and may say tasks and name"),
        (
            "tasks: 1",
            "F/stateous.yaml: url must be the control plane's, such as http://127.0.0.1:8080",
        ),
        (
            "url: localhost",
            "F/stateous.yaml: the URL of a control plane looks like http://127.0.0.1:8080",
        ),
        (
            f"url: {URL}\ntask: 3",
            "F/stateous.yaml: there is no setting 'task', only url, tasks and name",
        ),
        (f"url: {URL}\ntasks: 0", "F/stateous.yaml: tasks must be a whole number from 1 to 1000"),
        (
            f"url: {URL}\ntasks: true",
            "F/stateous.yaml: tasks must be a whole number from 1 to 1000",
        ),
        (f"url: {URL}\ntasks: '4'", "F/stateous.yaml: tasks must be a whole number from 1 to 1000"),
        (
            f"url: {URL}\nname: ''",
            "F/stateous.yaml: name must be a text of 1 to 256 printable characters",
        ),
        (
            f"url: {URL}\nname: {'n' * 257}",
            "F/stateous.yaml: name must be a text of 1 to 256 printable characters",
        ),
        (
            f"url: {URL}\nname: 'a\tb'",
            "F/stateous.yaml: name must be a text of 1 to 256 printable characters",
        ),
        (
            f"url: {URL}\nname: 7",
            "F/stateous.yaml: name must be a text of 1 to 256 printable characters",
        ),
    ],
)
def test_wrong_settings_are_refused_in_one_sentence(
    tmp_path: Path, text: str, sentence: str
) -> None:
    assert settings_of(tmp_path, text) == sentence


@pytest.mark.parametrize("text", ["url: [", "url: 'x\n", "a: 2026-99-99"])
def test_what_is_no_yaml_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    sentence = settings_of(tmp_path, text)
    assert sentence.startswith("F/stateous.yaml is not YAML: ")
    assert "\n" not in sentence


def test_a_mistake_in_the_yaml_is_told_with_its_place(tmp_path: Path) -> None:
    sentence = settings_of(tmp_path, f"url: {URL}\n  tasks: 3")
    assert sentence == (
        "F/stateous.yaml is not YAML: line 2, column 8: mapping values are not allowed here"
    )


def test_a_folder_without_settings_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(
        BadFolder, match=r"has no stateous\.yaml: run stateous init supervisor SOURCE"
    ):
        read_settings(tmp_path)


def test_the_contract_is_read_without_being_run(tmp_path: Path) -> None:
    (tmp_path / "contract.py").write_text(
        '"""A contract."""\nraise SystemExit\n__workflow__ = "orders"\n__checksum__ = "sha256:1"\n'
    )
    assert read_contract(tmp_path) == Contract("orders", "sha256:1")


@pytest.mark.parametrize("text", ["", "__workflow__ = 'orders'", "__checksum__ = f()", "def", "\0"])
def test_a_contract_that_says_too_little_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "contract.py").write_text(text)
    with pytest.raises(BadFolder, match=r"contract\.py .*: run stateous init supervisor SOURCE"):
        read_contract(tmp_path)


def test_a_folder_without_contract_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFolder, match=r"has no contract\.py: run stateous init supervisor"):
        read_contract(tmp_path)


def test_a_contract_is_for_one_graph(tmp_path: Path) -> None:
    (tmp_path / "stateous.yaml").write_text(f"url: {URL}\n")
    settings = read_settings(tmp_path)
    contract = Contract("orders", "sha256:1")
    check_contract(contract, Health("orders", "sha256:1"), settings=settings, url=URL)
    with pytest.raises(BadFolder) as caught:
        check_contract(contract, Health("orders", "sha256:2"), settings=settings, url=URL)
    assert str(caught.value) == (
        f"{tmp_path}/contract.py is for another version of the workflow 'orders': "
        f"run stateous init supervisor {URL} {tmp_path} again"
    )
    with pytest.raises(BadFolder, match=f"the control plane at {URL} serves 'invoices'"):
        check_contract(contract, Health("invoices", "sha256:1"), settings=settings, url=URL)


@pytest.fixture
def routines(tmp_path: Path) -> Iterator[Path]:
    """A folder with a contract; what it imports is forgotten after the test."""
    (tmp_path / "contract.py").write_text(
        "from stateous import Event, StateRef\n"
        "class states:\n"
        "    draft = StateRef('draft', emits=('submitted',))\n"
        "    review = StateRef('review', emits=('reviewed',))\n"
    )
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


HEAD = "from stateous import on_state\nfrom contract import states\n"


def test_routines_are_found_in_every_file(routines: Path) -> None:
    (routines / "a_first.py").write_text(
        HEAD + "@on_state(states.review)\nasync def look(ctx): ...\n"
    )
    (routines / "b_second.py").write_text(
        HEAD + "from a_first import look\n@on_state(states.draft)\ndef draft(ctx): ...\n"
    )
    found = find_routines(routines)
    assert list(found) == ["review", "draft"]
    assert (found["review"].awaited, found["review"].where) == (True, "look in a_first.py")
    assert not found["draft"].awaited


def refused(folder: Path) -> str:
    with pytest.raises(BadRoutines) as caught:
        find_routines(folder)
    return str(caught.value).replace(str(folder.resolve()), "F")


def test_a_folder_without_routine_is_refused(routines: Path) -> None:
    assert refused(routines).startswith(
        "F has no routine: mark a function with @on_state(states.name)"
    )


def test_two_routines_for_a_state_are_refused(routines: Path) -> None:
    for name in ("one", "two"):
        text = f"{HEAD}@on_state(states.draft)\ndef {name}(ctx): ...\n"
        (routines / f"file_{name}.py").write_text(text)
    assert refused(routines) == (
        "the state 'draft' has two routines: one in file_one.py, and two in file_two.py"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1/0", "broken_file.py, line 1: ZeroDivisionError: division by zero"),
        ("\nraise SystemExit(3)", "broken_file.py, line 2: SystemExit: 3"),
        (
            "import nothing_of_this_name",
            "broken_file.py, line 1: ModuleNotFoundError: No module named 'nothing_of_this_name'",
        ),
        ("def", "SyntaxError: invalid syntax (broken_file.py, line 1)"),
    ],
)
def test_a_file_that_does_not_import_is_named(routines: Path, text: str, why: str) -> None:
    (routines / "broken_file.py").write_text(text)
    assert refused(routines) == f"F/broken_file.py does not import: {why}"


def test_a_file_with_the_name_of_a_loaded_module_is_named(routines: Path) -> None:
    (routines / "json.py").write_text("")
    assert "a module called 'json' is loaded already" in refused(routines)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("def draft(): ...", "draft in few.py must take one argument, the context: def draft(ctx)"),
        (
            "def draft(ctx, more): ...",
            "draft in few.py must take one argument, the context: def draft(ctx)",
        ),
        ("class Draft:\n  def __init__(self, ctx): ...", "Draft in few.py is no function: mark a function with @on_state"),
        ("def draft(ctx): yield", "draft in few.py is a generator: it must return its event, and not yield it"),
        ("async def draft(ctx): yield", "draft in few.py is a generator: it must return its event, and not yield it"),
    ],
)  # fmt: skip
def test_what_is_no_routine_is_refused_by_name(routines: Path, text: str, sentence: str) -> None:
    (routines / "few.py").write_text(f"{HEAD}@on_state(states.draft)\n{text}\n")
    assert refused(routines) == sentence


@pytest.mark.parametrize("kind", ["", "@staticmethod\n  ", "@classmethod\n  "])
def test_a_method_is_refused_for_no_supervisor_makes_an_instance(routines: Path, kind: str) -> None:
    text = f"class Desk:\n  {kind}@on_state(states.draft)\n  def draft(self, ctx): ...\n"
    (routines / "desk.py").write_text(HEAD + text)
    assert refused(routines) == "draft in desk.py is a method of Desk: mark a function of the file"


def test_a_bound_method_is_refused_by_the_mark(routines: Path) -> None:
    text = "class Desk:\n  def draft(self, ctx): ...\non_state(states.draft)(Desk().draft)\n"
    (routines / "desk.py").write_text(HEAD + text)
    assert "desk.py, line 5: TypeError: @on_state marks functions of a module" in refused(routines)


def test_whatever_is_called_like_a_function_may_be_a_routine(routines: Path) -> None:
    text = """
import functools
class Desk:
    async def __call__(self, ctx): ...
def traced(function):
    @functools.wraps(function)
    def inner(*args): return function(*args)
    return inner
async def work(ctx, other): ...

desk = on_state(states.draft)(Desk())
partial = on_state(states.review)(functools.partial(work, other=1))
first = on_state(states.first)(lambda ctx: None)
@traced
@on_state(states.second, isolate=True)
async def second(ctx): ...
"""
    (routines / "desk.py").write_text(HEAD + text)
    with (routines / "contract.py").open("a") as contract:
        contract.write("    first = StateRef('first')\n    second = StateRef('second')\n")
    found = find_routines(routines)
    assert {name: (each.awaited, each.isolate) for name, each in found.items()} == {
        "draft": (True, False),
        "review": (True, False),
        "first": (False, False),
        "second": (True, True),
    }
    assert found["draft"].where == "a routine in desk.py"
    assert found["second"].where == "second in desk.py"


def test_tests_beside_the_routines_are_not_imported(routines: Path) -> None:
    (routines / "some.py").write_text(HEAD + "@on_state(states.draft)\ndef draft(ctx): ...\n")
    for name in ("test_some.py", "some_test.py", "conftest.py"):
        (routines / name).write_text("1/0")
    assert list(find_routines(routines)) == ["draft"]


def test_a_routine_is_found_again_in_another_process(routines: Path) -> None:
    (routines / "found_again.py").write_text(
        HEAD + "@on_state(states.review)\n@on_state(states.draft)\ndef both(ctx): ...\n"
    )
    assert load_routine(routines / "found_again.py", "draft").state.name == "draft"
    with pytest.raises(BadRoutines, match="has no routine for the state 'other' any more"):
        load_routine(routines / "found_again.py", "other")


def test_an_event_that_the_state_does_not_emit_is_doubted(routines: Path) -> None:
    text = """
from __future__ import annotations
from stateous import Event, on_state
from contract import states
class submitted(Event):
    name = "submitted"
class reviewed(Event):
    name = "reviewed"
@on_state(states.draft)
@on_state(states.review)
def draft(ctx) -> submitted | None: ...
@on_state(states.third)
def third(ctx) -> Unknown | reviewed: ...
@on_state(states.fourth)
def fourth(ctx) -> reviewed | type[submitted] | Event | int: ...
"""
    (routines / "doubted.py").write_text(text)
    with (routines / "contract.py").open("a") as contract:
        contract.write("    third = StateRef('third')\n    fourth = StateRef('fourth')\n")
    assert list(doubts(find_routines(routines).values())) == [
        (
            "draft in doubted.py says that it returns the event 'submitted', "
            "which the state 'review' does not emit"
        ),
        (
            "fourth in doubted.py says that it returns the event 'reviewed', "
            "which the state 'fourth' does not emit"
        ),
        (
            "fourth in doubted.py says that it returns the event 'submitted', "
            "which the state 'fourth' does not emit"
        ),
    ]


ROUTINE = (
    "from contract import states\nfrom stateous import on_state\n"
    "@on_state(states.draft)\ndef draft(ctx): ...\n"
)


def test_a_trace_is_carried_when_no_propagators_are_named(routines: Path) -> None:
    (routines / "routines.py").write_text(ROUTINE)
    (found,) = find_routines(routines).values()
    assert [type(each) for each in found.propagators] == [TraceContextPropagator]


def test_propagators_are_those_of_their_file(routines: Path) -> None:
    (routines / "routines.py").write_text(ROUTINE)
    (routines / "propagators.py").write_text(
        "from contextvars import ContextVar\nfrom stateous import ContextVarPropagator\n"
        "propagators = [ContextVarPropagator(ContextVar('tenant'))]\n"
    )
    (found,) = find_routines(routines).values()
    assert repr(found.propagators) == "(ContextVarPropagator('tenant'),)"
    again = load_routine(routines / "routines.py", "draft")
    assert again.propagators == found.propagators


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "F/propagators.py names no propagators: write propagators = [...] in it"),
        (
            "propagators = 7",
            "propagators in propagators.py must be a list of propagators, and is 7",
        ),
        (
            "propagators = [1]",
            "propagators[0] in propagators.py is no propagator: 1 has no method capture",
        ),
        ("1 / 0", "F/propagators.py does not import: propagators.py, line 1: ZeroDivisionError"),
    ],
)
def test_propagators_that_are_none_are_refused(routines: Path, text: str, sentence: str) -> None:
    (routines / "routines.py").write_text(ROUTINE)
    (routines / "propagators.py").write_text(text)
    with pytest.raises((BadRoutines, BadPropagator)) as caught:
        find_routines(routines)
    assert str(caught.value).replace(str(routines), "F").startswith(sentence)
