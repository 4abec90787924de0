"""compose.yaml without Docker: its commands, its health checks and its example do what they are there for."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from stateous.cli.main import app
from stateous.client import Client
from tests.databases import Database
from tests.e2e.processes import STATEOUS, Running

ROOT = Path(__file__).parents[2]
FILE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = FILE["services"]
CONTROL_PLANE, SUPERVISOR = SERVICES["control-plane"], SERVICES["supervisor"]
PATH = f"{Path(STATEOUS).parent}{os.pathsep}{os.environ['PATH']}"


def read(command: list[str]) -> dict[str, Any]:
    """What our own command line reads from a command. Fails with its sentence when it cannot."""
    name, *arguments = command
    assert name == "stateous"
    found: Any = typer.main.get_command(app)
    while hasattr(found, "commands"):
        found = found.commands[arguments.pop(0)]
    return found.make_context(name, arguments).params


def commands_of_the_head() -> Iterator[list[str]]:
    """The `stateous` commands that the comment at the top tells people to type."""
    for line in (ROOT / "compose.yaml").read_text(encoding="utf-8").splitlines():
        if line.startswith("#   docker compose exec"):
            yield shlex.split(line.partition("control-plane ")[2])


def health_check(*, port: int) -> int:
    """The exit code of the control plane's health check, asking this port."""
    how, *command = CONTROL_PLANE["healthcheck"]["test"]
    assert how == "CMD"
    assert command[0] == "python"
    asks = [sys.executable, *(part.replace(":8080/", f":{port}/") for part in command[1:])]
    assert f":{port}/" in asks[-1]
    return subprocess.run(asks, capture_output=True, check=False).returncode


def test_the_commands_can_be_read() -> None:
    serve = read(CONTROL_PLANE["command"])
    host, port = serve["listen"].rsplit(":", 1)
    assert host == "0.0.0.0"  # noqa: S104 - inside the container; what is published is below
    assert str(serve["graph"]) == "orders/build/orders.json"
    assert CONTROL_PLANE["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert f"127.0.0.1:{port}/health" in CONTROL_PLANE["healthcheck"]["test"][-1]
    assert str(read(SUPERVISOR["command"])["folder"]) == "worker"
    assert [read(command)["token"] for command in commands_of_the_head()] == ["ORDER-1"] * 2


def test_whoever_is_waited_for_is_there_and_says_when_it_is_ready() -> None:
    waits = 0
    for service in SERVICES.values():
        for name, how in service.get("depends_on", {}).items():
            waits += 1
            if how["condition"] == "service_healthy":
                assert "healthcheck" in SERVICES[name]
            else:
                assert how["condition"] == "service_completed_successfully"
                assert SERVICES[name]["restart"] == "no"
        for mount in service["volumes"]:
            source = mount.split(":")[0]
            assert source in FILE["volumes"] or (ROOT / source).is_dir()
    assert waits == 3


def test_all_go_on_after_the_computer_was_restarted_and_know_the_same_password() -> None:
    for name in ("postgres", "control-plane", "supervisor"):
        assert SERVICES[name]["restart"] == "unless-stopped"
    said = CONTROL_PLANE["environment"]
    made = SERVICES["postgres"]["environment"]
    assert said["PGPASSWORD"] == made["POSTGRES_PASSWORD"] == "${POSTGRES_PASSWORD:-stateous}"
    user, database = made["POSTGRES_USER"], made["POSTGRES_DB"]
    assert said["STATEOUS_DB"] == f"postgresql://{user}@postgres/{database}"
    asked = SERVICES["postgres"]["healthcheck"]["test"]
    assert {f"--username={user}", f"--dbname={database}"} < set(asked)


def test_the_image_holds_what_is_installed() -> None:
    lines = (ROOT / CONTROL_PLANE["build"] / "Dockerfile").read_text(encoding="utf-8").splitlines()
    copied = {name for line in lines if line.startswith("COPY ") for name in line.split()[1:-1]}
    for name in copied:
        assert (ROOT / name).exists()
    packed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = packed["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    assert {each.split("/")[0] for each in wheel} <= copied
    assert any(line.startswith("USER ") and line != "USER root" for line in lines)


def test_nobody_answers_so_the_control_plane_is_not_healthy() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert health_check(port=port) != 0


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """What the service `example` leaves, when it has run twice."""
    service = SERVICES["example"]
    mounted = ROOT / service["volumes"][1].split(":")[0]
    shell, options, script = service["command"]
    script = script.replace("/example/", f"{mounted}/")
    for _ in range(2):
        subprocess.run(
            [shell, options, script], cwd=tmp_path, env={**os.environ, "PATH": PATH}, check=True
        )
    return tmp_path


def test_the_example_runs_an_order_to_its_end(example: Path, postgres: Database) -> None:
    _, *serve = CONTROL_PLANE["command"]
    serve[serve.index("--listen") + 1] = "127.0.0.1:0"
    _, *supervise = SUPERVISOR["command"]
    with Running(*serve, "--db", postgres.url, cwd=example) as control:
        url = control.says(r"^serving on (http://127\.0\.0\.1:(\d+)) ")
        assert health_check(port=int(url[2])) == 0
        _let_it_find(example / "worker/stateous.yaml", url[1])
        with Running(*supervise, cwd=example) as worker, Client(url[1]) as client:
            client.start("ORDER-1", {"title": "Two chairs"})
            worker.says("of ORDER-1: reported reviewed$")
            assert client.get("ORDER-1").status == "completed"
            assert worker.stop() == 0
        assert control.stop() == 0


def _let_it_find(settings: Path, url: str) -> None:
    """The control plane has another address than among the services of the file."""
    text = settings.read_text(encoding="utf-8")
    port = CONTROL_PLANE["ports"][0].rsplit(":", 1)[1]
    there = f"http://control-plane:{port}"
    assert f"url: {there}\n" in text
    settings.write_text(text.replace(there, url), encoding="utf-8")
