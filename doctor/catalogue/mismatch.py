"""What an exception of Python shows that no signature knows: who asked what of whom, and what was there instead."""

from __future__ import annotations

from typing import Literal

from doctor.base.evidence import Observed
from doctor.base.record import record
from doctor.catalogue.finding import Where

#: What was asked and is not there, by whom. A name that nothing has set, in a library's code ("name_library"), there
#: on another branch ("name_branch"), in the user's own ("name_own"), or one that is to be imported ("name_import"). An
#: entry of a saved state, of a row, of a table of names, of a configuration, of the environment ("key_..."). None, of
#: which something is asked: the arguments of a trainer, an output of a model, a match of a regular expression, or what
#: settings speak of ("none_..."). A call that its function does not take ("call_..."). An attribute that a class lacks:
#: asked by a library, by the library's own object, by the user's code, or of something that settings speak of
#: ("attribute_..."). An object of another class than the code reads ("other_type"). A value that a list does not hold,
#: and a checkpoint among them ("not_listed..."). A refusal whose own words failed ("refusal", `name` is what it was
#: about to say).
Case = Literal[
    "name_library", "name_branch", "name_own", "name_import", "key_state", "key_row", "key_table", "key_setting",
    "key_variable", "none_arguments", "none_output", "none_match", "none_setting", "call_keyword", "call_count",
    "call_missing", "attribute_library", "attribute_itself", "attribute_own", "attribute_setting", "other_type",
    "not_listed", "not_listed_checkpoint",
    "refusal",
]  # fmt: skip


@record
class Mismatch:
    """An exception, taken apart.

    A file under ``checks/python/`` declares ``of_mismatch(mismatch: Mismatch) -> Finding | None``.

    Args:
        case: what was asked of whom.
        where, evidence: the exception.
        name: the name, key, attribute, argument or value that is asked for.
        of: the class, function or owner of which it is asked; "" where nothing tells.
        subject: the expression in the line that raised, "" where it is not shown.
        place: innermost frame that says something, as "trainer.py:1576 (train)"; "" where none is shown.
        asker: library in whose code that frame lies; `own`: it is the user's own code. Neither where no frame tells.
        version: of the asker, where told; `installed`: versions of the stack that the log and its context tell.
        mine: innermost frame of the user's own code, where it is another one than `place`.
        callers: libraries on the way there, nearest first.
        settings: those that speak of what is missing, as `name=value`.
        given, taken: of a call with another count of arguments.
        meant: a name that Python proposes instead.

    """

    case: Case
    where: Where
    evidence: tuple[Observed, ...]
    name: str = ""
    of: str = ""
    subject: str = ""
    place: str = ""
    asker: str = ""
    own: bool = False
    version: str = ""
    installed: tuple[str, ...] = ()
    mine: str = ""
    callers: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    given: str = ""
    taken: str = ""
    meant: str = ""
