"""`python -m stateous_supervisor FOLDER`: the supervisor without the `stateous` command."""

import sys
from pathlib import Path

from stateous_supervisor.command import supervise

if len(sys.argv) != 2:
    sys.exit("usage: python -m stateous_supervisor FOLDER")
sys.exit(supervise(Path(sys.argv[1])))
