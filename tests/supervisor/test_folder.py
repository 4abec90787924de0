"""The folder of a supervisor: each way in which its files can be wrong has one sentence."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stateous.client import Health
from stateous_supervisor.folder import (
    BadFolder,
    Contract,
    check_contract,
    read_contract,
    read_settings,
)
from stateous_supervisor.routines import BadRoutines, find_routines

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
        (f"url: {URL}\nname: ''", "F/stateous.yaml: name must be a text of 1 to 256 characters"),
        (
            f"url: {URL}\nname: {'n' * 257}",
            "F/stateous.yaml: name must be a text of 1 to 256 characters",
        ),
        (f"url: {URL}\nname: 7", "F/stateous.yaml: name must be a text of 1 to 256 characters"),
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


def test_a_routine_takes_one_argument(routines: Path) -> None:
    (routines / "few.py").write_text(HEAD + "@on_state(states.draft)\ndef draft(): ...\n")
    assert refused(routines) == (
        "draft in few.py must take one argument, the context: def draft(ctx)"
    )
