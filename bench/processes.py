"""What the system tells of other processes."""

from __future__ import annotations

from pathlib import Path


def cpu_of(pid: int) -> float:
    """Seconds of CPU that the process's threads have used; 0 where the system does not tell."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9
    except OSError:
        return 0.0
