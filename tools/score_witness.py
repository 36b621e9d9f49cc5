"""Puts twenty silent bugs with public fixes back in and prints which of them the witness names.

    .venv/bin/python tools/score_witness.py

Needs torch; takes some minutes on two cores.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.witness.history import BUGS, named

#: of twenty
WANTED = 16


def main() -> int:
    """Print a line a bug and the score; 1 where it is below what is wanted."""
    score = 0
    for bug in BUGS:
        right, said = named(bug)
        score += right
        print(
            f"{'named ' if right else 'MISSED'} {bug.url}\n       {bug.what}: {said[0] if said else 'nothing was said'}"
        )
    print(f"\n{score} of {len(BUGS)} named, {WANTED} wanted")
    return 0 if score >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
