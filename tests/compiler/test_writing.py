"""A file is written whole or not at all, and where it is meant to be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from stateous.compiler.writing import CannotWrite, write_text


def names(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()]


def test_a_file_and_its_folder_are_made_with_the_rights_that_are_usual(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    write_text(path, "größe\n")
    (tmp_path / "usual").write_text("")
    assert path.read_bytes() == "größe\n".encode()
    assert path.stat().st_mode == (tmp_path / "usual").stat().st_mode
    assert names(path.parent) == ["file"]


def test_what_was_there_is_replaced_and_keeps_its_rights(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("a longer text than the new one")
    path.chmod(0o640)
    write_text(path, "new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_link_stays_one_and_its_file_is_written(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    for text in ("one", "two"):
        write_text(tmp_path / "link", text)
        assert (tmp_path / "file").read_text() == text
    assert (tmp_path / "link").is_symlink()


def test_on_a_full_disk_the_old_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    script = (
        "import resource, sys; from pathlib import Path; from stateous.compiler.writing import *\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: write_text(Path(sys.argv[1]), 'new' * 1000)\n"
        "except CannotWrite as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"cannot write {path}: File too large\n"
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_what_cannot_be_written_is_told_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    told = {
        tmp_path / "file" / "more": f"{tmp_path}/file is no folder",
        tmp_path / "file" / "more" / "deep": "Not a directory",
        tmp_path: "Is a directory",
        tmp_path / ("x" * 300): "File name too long",
        Path("/dev/full"): "No space left on device",
    }
    for path, reason in told.items():
        with pytest.raises(CannotWrite) as refused:
            write_text(path, "text")
        assert str(refused.value) == f"cannot write {path}: {reason}"


def test_half_a_character_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotWrite, match="it would hold half a character"):
        write_text(tmp_path / "file", "\ud800")
    assert names(tmp_path) == []
