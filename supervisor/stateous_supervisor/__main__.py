"""`python -m stateous_supervisor FOLDER [LEASH]`: the supervisor without the `stateous` command.

LEASH is the number of an open file: when its other end closes, the supervisor stops at once.
"""

import sys
from pathlib import Path

from stateous_supervisor.command import supervise

if len(sys.argv) not in (2, 3):
    sys.exit("usage: python -m stateous_supervisor FOLDER [LEASH]")
sys.exit(supervise(Path(sys.argv[1]), leash=int(sys.argv[2]) if len(sys.argv) == 3 else None))
