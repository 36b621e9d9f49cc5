"""Makes tiny models before the command asks for them: a program, started beside it with the names that are known.

The lock is the same one, so that the command waits for what is being made instead of making it again. A name that
cannot be made here is no verdict: the command's own loader may be told more (`trust_remote_code`).
"""

from __future__ import annotations

import sys
from pathlib import Path


def main(words: list[str]) -> None:
    """Make the models of these names; LIBRARY NAME..."""
    sys.path.append(words[0])
    from doctor.monitors.rehearse.names import make_ahead

    for name in words[1:]:
        make_ahead(name)


if __name__ == "__main__":
    sys.path[:] = [each for each in sys.path if Path(each or ".").resolve() != Path(__file__).resolve().parent]
    main(sys.argv[1:])
