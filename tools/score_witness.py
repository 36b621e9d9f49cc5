"""Puts silent bugs with public fixes back in and prints which of them the witness names.

    .venv/bin/python tools/score_witness.py          # the twenty
    .venv/bin/python tools/score_witness.py later    # those that were drawn when it was complete

Needs torch; takes some minutes on two cores.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.witness.history import BUGS, LATER, named

#: share of the bugs
WANTED = 0.8


def main() -> int:
    """Print a line a bug and the score; 1 where it is below what is wanted."""
    bugs, score = LATER if sys.argv[1:] == ["later"] else BUGS, 0
    for bug in bugs:
        right, said = named(bug)
        score += right
        print(
            f"{'named ' if right else 'MISSED'} {bug.url}\n       {bug.what}: {said[0] if said else 'nothing was said'}"
        )
    print(f"\n{score} of {len(bugs)} named, {WANTED:.0%} wanted")
    return 0 if score >= WANTED * len(bugs) else 1


if __name__ == "__main__":
    sys.exit(main())
