"""flow.py is imported as its author meant it, and forgotten; what does not import is told in one sentence."""

from __future__ import annotations

import os
import py_compile
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from stateous.compiler.flow import NoWorkflow, compile_flow, load_flow
from stateous.compiler.importing import CannotImport, imported

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


def with_inner(write: Write, folder: str, field: str) -> Path:
    """A flow whose `schemas` is a package that imports its own modules, and one of them late."""
    flow = write(
        folder, flow=FLOW, shared=f"import msgspec\nclass Order(msgspec.Struct):\n    {field}: int"
    )
    package = flow.parent / "schemas"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text("from .inner import order\nOrder = order()")
    (package / "inner.py").write_text("def order():\n    import shared\n    return shared.Order")
    return flow


def test_packages_and_what_they_import_late_are_each_flows_own(write: Write) -> None:
    one, other = with_inner(write, "one", "first"), with_inner(write, "other", "second")
    assert [fields(one), fields(other), fields(one)] == [["first"], ["second"], ["first"]]


def test_what_a_flow_imports_from_elsewhere_is_forgotten_too(write: Write) -> None:
    for folder, field in (("one", "first"), ("other", "second")):
        write(f"{folder}_shared", schemas=SCHEMAS.replace("FIELD", field))
        flow = f"import sys\nsys.path.insert(0, __file__[:-8] + '/../{folder}_shared')\n" + FLOW
        write(folder, flow=flow)
    flows = [write("one"), write("other")]
    assert [fields(flow) for flow in flows] == [["first"], ["second"]]


def test_a_flow_that_fails_midway_leaves_nothing(write: Write) -> None:
    broken = with_inner(write, "broken", "first")
    broken.write_text(FLOW + "\n1 / 0")
    with pytest.raises(CannotImport):
        load_flow(broken)
    assert not {"schemas", "schemas.inner", "shared"} & set(sys.modules)
    assert fields(with_inner(write, "right", "second")) == ["second"]


def test_bytecode_beside_the_files_is_not_believed(write: Write) -> None:
    flow = write(flow=FLOW, schemas=SCHEMAS.replace("FIELD", "aaa"))
    schemas = flow.with_name("schemas.py")
    py_compile.compile(str(schemas))
    written = schemas.stat()
    write(schemas=SCHEMAS.replace("FIELD", "bbb"))
    os.utime(schemas, ns=(written.st_atime_ns, written.st_mtime_ns))
    assert fields(flow) == ["bbb"]


def test_what_a_flow_prints_is_not_what_the_command_says(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    flow = write(flow="print('from the flow')\n" + FLOW, schemas=SCHEMAS.replace("FIELD", "a"))
    load_flow(flow)
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "from the flow\n")


def test_a_folder_that_no_import_would_take_stays_out_of_the_way(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = ModuleType("a_library")
    installed.__file__ = "/somewhere/a_library/__init__.py"
    monkeypatch.setitem(sys.modules, "a_library", installed)
    flow = write(
        flow="import a_library\nassert a_library.__file__\n" + FLOW,
        schemas=SCHEMAS.replace("FIELD", "a"),
    )
    (flow.parent / "a_library").mkdir()
    assert fields(flow) == ["a"]


def test_ctrl_c_is_no_mistake_of_the_flow(write: Write) -> None:
    with pytest.raises(KeyboardInterrupt):
        load_flow(write(flow="raise KeyboardInterrupt"))
    assert "flow" not in sys.modules


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
        ({"flow": "x = 1\n\n  y = 2"}, "flow.py, line 3: IndentationError: unexpected indent"),
        (
            {"flow": "\nimport nothing_of_this_name"},
            "flow.py, line 2: ModuleNotFoundError: No module named 'nothing_of_this_name'",
        ),
        (
            {"flow": FLOW.replace("schemas", "shcemas"), "schemas": ""},
            "flow.py, line 2: ModuleNotFoundError: No module named 'shcemas': did you mean 'schemas'?",
        ),
        ({"flow": "\n\nx = y"}, "flow.py, line 3: NameError: name 'y' is not defined"),
        (
            {"flow": "class Order:\n    title: str\n    amount = int('x')\n"},
            "flow.py, line 3: ValueError: invalid literal for int() with base 10: 'x'",
        ),
        (
            {"flow": FLOW, "schemas": "import msgspec\n1 / 0"},
            "schemas.py, line 2: ZeroDivisionError: division by zero",
        ),
        (
            {"flow": FLOW, "schemas": "import msgspec\n\nclass Order(msgspec.Struct):\n    a: int = b"},
            "schemas.py, line 4: NameError: name 'b' is not defined",
        ),
        ({"flow": FLOW, "schemas": "\ndef x(:"}, "schemas.py, line 2: SyntaxError: invalid syntax"),
        ({"flow": FLOW, "schemas": "x = '\x00'"}, "schemas.py, line 1: SyntaxError: source code string cannot contain null bytes"),
        ({"flow": "x = 1\n\x00"}, "flow.py, line 2: SyntaxError: source code string cannot contain null bytes"),
        ({"flow": f"x = {'-' * 100_000}1"}, "flow.py, line 1: SyntaxError: an expression is nested too deep"),
        ({"flow": "# -*- coding: nope -*-"}, "flow.py, line 1: SyntaxError: unknown encoding: nope"),
        ({"flow": "def again():\n    again()\n\nagain()"}, "flow.py, line 2: RecursionError: maximum recursion depth exceeded"),
        ({"flow": "import sys; sys.exit(3)"}, "flow.py, line 1: SystemExit: 3"),
        ({"flow": "class Stop(BaseException): ...\nraise Stop"}, "flow.py, line 2: Stop"),
        ({"flow": "raise ValueError('a\\nb')"}, "flow.py, line 1: ValueError: a b"),
        (
            {"flow": "class Odd(Exception):\n    def __str__(self):\n        raise ValueError\nraise Odd"},
            "flow.py, line 4: Odd",
        ),
        ({"flow": "raise SyntaxError('mine', (5, 6, 7, 8))"}, "flow.py, line 1: SyntaxError: mine (line 6)"),
        ({"flow": "compile('1 +', '<text>', 'eval')"}, "flow.py, line 1: SyntaxError: invalid syntax (<text>, line 1)"),
        (
            {"flow": "from stateous import Workflow\nWorkflow()"},
            "flow.py, line 2: TypeError: Workflow.__init__() missing 1 required positional argument: 'name'",
        ),
        ({"flow": "raise ValueError('x' * 10**6)"}, f"flow.py, line 1: ValueError: {'x' * 271}…"),
        ({"flow": "from .schemas import Order"}, "flow.py, line 1: ImportError: attempted relative import with no known parent package"),
    ],
)  # fmt: skip
def test_what_does_not_import_is_one_sentence_with_file_line_and_mistake(
    write: Write, files: dict[str, str], said: str
) -> None:
    flow = write(**files)
    with pytest.raises(CannotImport) as refused:
        compile_flow(flow)
    assert str(refused.value) == f"{flow} does not import: {said}"
    assert not (flow.parent / "build").exists()


def test_a_name_that_is_not_in_schemas_is_told(write: Write) -> None:
    with pytest.raises(
        CannotImport, match=r"flow\.py, line 2: ImportError: cannot import name 'Order'"
    ):
        load_flow(write(flow=FLOW, schemas=""))


def test_a_file_that_is_no_utf_8_is_told(write: Write) -> None:
    flow = write(flow=FLOW)
    flow.with_name("schemas.py").write_bytes(b"import msgspec\nname = '\xe9'\n")
    with pytest.raises(
        CannotImport, match=r"schemas\.py, line 2: SyntaxError: \(unicode error\) 'utf-8'"
    ):
        load_flow(flow)


def test_a_mistake_in_a_package_says_which_file_of_it(write: Write) -> None:
    flow = with_inner(write, "one", "first")
    (flow.parent / "schemas" / "inner.py").write_text("\n\nx = y")
    with pytest.raises(CannotImport, match=r": schemas/inner\.py, line 3: NameError: name 'y'"):
        load_flow(flow)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "flow.py").mkdir()
    (tmp_path / "loop.py").symlink_to("loop.py")
    (tmp_path / "file").write_text("")
    told = {
        "nothing.py": "there is no such file",
        "file/flow.py": "there is no such file",
        "nul\0.py": "there is no such file",
        "folder/flow.py": "it is a folder",
        "loop.py": "too many levels of symbolic links",
        f"{'x' * 300}.py": "file name too long",
    }
    for name, reason in told.items():
        with pytest.raises(CannotImport) as refused, imported(tmp_path / name):
            pass
        assert str(refused.value) == f"cannot read {tmp_path / name}: {reason}"


def test_a_folder_stands_for_the_flow_in_it(tmp_path: Path) -> None:
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
            "has 2 main workflows: 'one', 'other'; keep one, or run the others in a state of it",
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
