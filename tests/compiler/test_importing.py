"""flow.py is imported as its author meant it, and forgotten; what does not import is told in one sentence."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from stateous.compiler.flow import NoWorkflow, compile_flow, load_flow
from stateous.compiler.importing import CannotImport

FLOW = """\
from stateous import END, START, Workflow
from schemas import Order
orders = Workflow("orders", context=Order)
go = orders.event("go")
draft = orders.state("draft", emits=[go])
orders.transition(START, draft)
orders.transition(draft, END, on=go)
"""
SCHEMAS = """\
from __future__ import annotations
import msgspec
class Line(msgspec.Struct):
    sku: str
class Order(msgspec.Struct):
    FIELD: list[Line]
"""

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(folder: str = "orders", **files: str) -> Path:
        (tmp_path / folder).mkdir(exist_ok=True)
        for name, text in files.items():
            (tmp_path / folder / f"{name}.py").write_text(text)
        return tmp_path / folder / "flow.py"

    return write


def fields(flow: Path) -> list[str]:
    schemas = load_flow(flow).graph().document["schemas"]
    return list(schemas["Order"]["properties"])


def test_a_flow_imports_the_files_beside_it(write: Write) -> None:
    flow = write(flow=FLOW, schemas=SCHEMAS.replace("FIELD", "lines"))
    assert fields(flow) == ["lines"]
    assert fields(flow.parent) == ["lines"]


def test_two_flows_never_see_each_others_schemas(write: Write) -> None:
    one = write("one", flow=FLOW, schemas=SCHEMAS.replace("FIELD", "first"))
    other = write("other", flow=FLOW, schemas=SCHEMAS.replace("FIELD", "second"))
    assert [fields(one), fields(other), fields(one)] == [["first"], ["second"], ["first"]]


def test_an_edit_is_seen_at_once(write: Write) -> None:
    flow = write(flow=FLOW, schemas=SCHEMAS.replace("FIELD", "aaa"))
    assert fields(flow) == ["aaa"]
    write(schemas=SCHEMAS.replace("FIELD", "bbb"))
    assert fields(flow) == ["bbb"]
    assert not list(flow.parent.glob("__pycache__"))


def test_everything_is_forgotten_and_what_was_there_before_comes_back(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = ModuleType("schemas")
    monkeypatch.setitem(sys.modules, "schemas", mine)
    flow = write(flow="import inner.deep\n" + FLOW, schemas=SCHEMAS.replace("FIELD", "lines"))
    (flow.parent / "inner").mkdir()
    (flow.parent / "inner" / "deep.py").write_text("")
    path, modules = list(sys.path), set(sys.modules)
    assert fields(flow) == ["lines"]
    assert sys.path == path
    assert sys.modules["schemas"] is mine
    assert set(sys.modules) - modules <= {name for name in sys.modules if "pydantic" in name}


def test_a_folder_may_hold_names_of_the_standard_library_and_of_stateous(write: Write) -> None:
    write(json="raise RuntimeError", stateous="raise RuntimeError")
    flow = write(flow=FLOW, schemas=SCHEMAS.replace("FIELD", "lines"))
    assert fields(flow) == ["lines"]


def test_a_flow_may_have_the_name_of_something_that_is_loaded(write: Write) -> None:
    import stateous

    for name in ("stateous", "json"):
        flow = write(name, schemas=SCHEMAS.replace("FIELD", "lines")).with_name(f"{name}.py")
        before = sys.modules[name]
        flow.write_text(FLOW)
        assert fields(flow) == ["lines"]
        assert sys.modules[name] is before
    assert sys.modules["stateous"] is stateous


def test_an_environment_inside_the_folder_is_not_forgotten(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow = write(flow="import a_library\n" + FLOW, schemas=SCHEMAS.replace("FIELD", "lines"))
    installed = flow.parent / ".venv" / "site-packages"
    installed.mkdir(parents=True)
    (installed / "a_library.py").write_text("")
    monkeypatch.setattr(sys, "path", [str(installed), *sys.path])
    assert fields(flow) == ["lines"]
    assert sys.modules.pop("a_library", None) is not None


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"flow": "x = ("}, "flow.py, line 1: SyntaxError: '(' was never closed"),
        ({"flow": "\nimport nothing_of_this_name"}, "flow.py, line 2: ModuleNotFoundError: No module named"),
        ({"flow": "\n\nx = y"}, "flow.py, line 3: NameError: name 'y' is not defined"),
        ({"flow": FLOW, "schemas": "import msgspec\n1 / 0"}, "schemas.py, line 2: ZeroDivisionError"),
        ({"flow": FLOW, "schemas": "def x(:"}, "schemas.py, line 1: SyntaxError"),
        ({"flow": FLOW, "schemas": ""}, "flow.py, line 2: ImportError: cannot import name 'Order'"),
        ({"flow": "import sys; sys.exit(3)"}, "flow.py, line 1: SystemExit: 3"),
        ({"flow": "raise ValueError('a\\nb')"}, "flow.py, line 1: ValueError: a b"),
        ({"flow": "x = '\\x00'\n\x00"}, "flow.py does not import: "),
        ({"flow": "from stateous import Workflow\nWorkflow()"}, "line 2: TypeError"),
        ({"flow": "raise ValueError('x' * 10**6)"}, "flow.py, line 1: ValueError: xxx"),
    ],
)  # fmt: skip
def test_what_does_not_import_is_one_sentence_with_file_line_and_mistake(
    write: Write, files: dict[str, str], said: str
) -> None:
    flow = write(**files)
    with pytest.raises(CannotImport) as refused:
        compile_flow(flow)
    sentence = str(refused.value)
    assert sentence.startswith(f"{flow} does not import: ")
    assert said in sentence
    assert "\n" not in sentence
    assert len(sentence) < 1000
    assert not (flow.parent / "build").exists()


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotImport, match="there is no such file"):
        compile_flow(tmp_path / "flow.py")
    with pytest.raises(CannotImport, match=r"flow\.py: there is no such file"):
        compile_flow(tmp_path)


def test_another_file_name_does(write: Write) -> None:
    flow = write(other=FLOW, schemas=SCHEMAS.replace("FIELD", "lines")).with_name("other.py")
    assert compile_flow(flow) == flow.parent / "build" / "orders.json"


TWO = """\
from stateous import Workflow
one, other = Workflow("one"), Workflow("other")
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no workflow"),
        (
            TWO,
            "has 2 main workflows: 'one', 'other'; keep one, or run the others in a parallel state of it",
        ),
        (
            TWO + "one.state('s', parallel=[other]); other.state('s', parallel=[one])",
            "each one is run by a state of another one",
        ),
    ],
)
def test_there_is_one_main_workflow(write: Write, text: str, said: str) -> None:
    with pytest.raises(NoWorkflow, match=said):
        load_flow(write(flow=text))
