"""The process of an isolated routine: `python -m stateous_supervisor.isolated SOCKET`, begun by process.py.

It becomes two: what was begun stays as the keeper, and its child runs the routine, in a group of its own.
They part before anything of the user's is imported, so that the keeper is small and has one thread.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from stateous_supervisor.keeper import keep


def main(number: int) -> None:
    """`number` is the open file of our end of the pair of sockets; stdin is the supervisor's leash."""
    os.set_inheritable(number, False)
    worker = os.fork()
    if worker:
        os.close(number)
        with suppress(OSError):  # it is over already
            os.setpgid(worker, worker)  # both do it, so that neither goes on before it is done
        keep(worker)
    os.setpgid(0, 0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)

    from stateous_supervisor.worker import work  # noqa: PLC0415 - the keeper does not need it

    work(number)


if __name__ == "__main__":
    main(int(sys.argv[1]))
