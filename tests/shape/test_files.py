"""The shape of every file: what its first line says, how long it is, and how it is called."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("stateous", "supervisor", "sql", "migrations", "tests", "examples", "bench")
LONGEST = 500
VAGUE = {"util", "utils", "helper", "helpers", "manager", "managers", "base", "common", "misc"}


def files(*endings: str) -> list[Path]:
    return sorted(
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in endings and "__pycache__" not in path.parts
    )


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_a_file_says_first_what_it_is() -> None:
    for path in files(".py", ".sql"):
        lines = path.read_text(encoding="utf-8").splitlines()
        first = next((line for line in lines if not line.startswith("#!")), "")
        opening = '"""' if path.suffix == ".py" else "-- "
        assert first.startswith(opening), f"{name_of(path)} does not begin with its sentence"
        assert len(first.split()) >= 4, f"the first line of {name_of(path)} is no sentence"


def test_a_file_has_one_idea() -> None:
    for path in files(".py", ".sql"):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= LONGEST, f"{name_of(path)} has {lines} lines: look for its second idea"


def test_a_module_is_called_by_what_it_holds() -> None:
    for path in files(".py"):
        assert not set(path.stem.split("_")) & VAGUE, f"{name_of(path)} could hold anything"


def test_folders_that_are_no_packages_hold_no_init() -> None:
    for folder in ("sql", "migrations", "tests", "examples", "bench"):
        assert not list((ROOT / folder).rglob("__init__.py"))
    assert not (ROOT / "supervisor" / "__init__.py").exists()


def test_the_project_speaks_only_of_itself() -> None:
    words = ("/work/", "/tmp/plan", "issues show", "WIRE", "DESIGN", "(card: ")
    here = Path(__file__)
    texts = [*files(".py", ".sql", ".md"), *(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")]
    for path in texts:
        if path != here:
            text = path.read_text(encoding="utf-8")
            assert not [word for word in words if word in text], name_of(path)
