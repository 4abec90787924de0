"""The docs name everything that a user meets: commands, options, refusal codes, ledger kinds, settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from stateous.client.errors import BY_CODE
from stateous.model.sentences import SENTENCES

ROOT = Path(__file__).parents[2]
DOCS = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}
PAGES = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]


def recorded_kinds() -> set[str]:
    """Every kind that the engine writes, read from its source: `record(token, "kind", …)`."""
    source = "".join(path.read_text() for path in (ROOT / "stateous/engine").glob("*.py"))
    found = re.findall(r"\brecord\(\s*[\w.]+,\s*\"(\w+)\"", source)
    return set(found)


@pytest.mark.parametrize("code", sorted(BY_CODE))
def test_each_refusal_code_is_in_the_docs(code: str) -> None:
    assert f"| `{code}`" in DOCS["http.md"]


@pytest.mark.parametrize("kind", sorted(SENTENCES))
def test_each_ledger_kind_is_in_the_docs(kind: str) -> None:
    assert f"| `{kind}` |" in DOCS["ledger.md"]


def test_each_kind_that_the_engine_records_has_its_sentence() -> None:
    kinds = recorded_kinds()
    assert len(kinds) > 15
    assert kinds <= SENTENCES.keys()


def test_each_command_and_option_is_in_the_docs() -> None:
    import typer

    from stateous.cli.main import app

    missing: list[str] = []

    def look(command: object, words: str) -> None:
        for parameter in getattr(command, "params", []):
            for name in getattr(parameter, "opts", []):
                if name.startswith("--") and name not in ("--help", "--version"):
                    missing.extend([f"{words} {name}"] if name not in DOCS["cli.md"] else [])
        commands: dict[str, object] = getattr(command, "commands", {})
        for name, inner in commands.items():
            look(inner, f"{words} {name}")
        if not commands and f"`{words}" not in DOCS["cli.md"]:
            missing.append(words)

    look(typer.main.get_command(app), "stateous")
    assert missing == []


def test_each_environment_variable_is_in_the_docs() -> None:
    source = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("stateous", "supervisor")
        for path in (ROOT / folder).rglob("*.py")
    )
    for name in {*re.findall(r"\"(STATEOUS_[A-Z_]+)\"", source), "STATEOUS_TEST_POSTGRES"}:
        assert f"`{name}`" in DOCS["settings.md"], name


def test_each_setting_of_a_supervisor_is_in_the_docs() -> None:
    from stateous_supervisor.folder import SETTINGS

    for name in SETTINGS:
        assert f"| `{name}` |" in DOCS["settings.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_pages_that_are_there(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_the_docs_name_are_there(page: Path) -> None:
    named = r"`((?:stateous|supervisor|sql|migrations|tests|docs|examples|bench)/[\w/.-]+)`"
    for target in re.findall(named, page.read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), target


def test_the_readme_reaches_a_running_workflow_within_40_lines() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert any("stateous token history" in line for line in lines[:40])
    first = [line for line in lines if line.startswith("make ")]
    assert [line.split()[1] for line in first[:2]] == ["demo", "test"]


def test_the_compose_file_runs_commands_that_there_are() -> None:
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    services = compose["services"]
    assert {"postgres", "control-plane", "supervisor"} <= services.keys()
    for name in ("control-plane", "supervisor"):
        command = services[name]["command"]
        assert f"`{command[0]} {command[1]} " in DOCS["cli.md"]
        for option in command:
            if option.startswith("--"):
                assert option in DOCS["cli.md"]
