"""What becomes of an input: shared by remedies, which order it, fixes, which make it, and comparisons, which find it.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from typing import Any, Literal

from doctor.base.record import record

Kind = Literal["setting", "package", "variable", "launch", "fact"]


class Chosen:
    """Stands for a value that is left to the user (`num_generations=...`)."""

    def __repr__(self) -> str:
        """As it is printed."""
        return "..."


ANY = Chosen()


@record
class Input:
    """What can be changed.

    Args:
        kind: a setting (of a script, a file or an option), a package, a variable, the launch command itself, or
            another part of a fact.
        name: of the setting as it is written there (options in snake case), of the package (normalised), of the
            variable; the program's name of a launch command; fact and way into it, `gpus.driver_version`.

    """

    kind: Kind
    name: str


@record
class Change:
    """One input that becomes another.

    Args:
        input: what changes.
        old: what it is now, None where that is not known or nothing is there.
        new: value of a setting or variable, version range of a package ("" for any), words of a launch command; None
            for what is taken out; ANY where the user chooses.

    """

    input: Input
    old: Any = None
    new: Any = None
