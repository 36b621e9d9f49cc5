"""What is left when no signature knows a failure: the facts from which the area `unknown` words its answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from doctor.base.evidence import Observed
from doctor.base.record import record
from doctor.catalogue.finding import Where

Kind = Literal["exception", "consequences", "abrupt", "repeated"]

#: Python's exception for SIGINT; vLLM's server raises it for SIGTERM as well
INTERRUPT = "KeyboardInterrupt"


@record
class Unrecorded:
    """What is missing in a console log because it could not be written.

    Args:
        reason: of the operating system for the first part that is missing, as "ENOSPC".
        lost_bytes, lost_lines: how much is missing.
        folder: of the run.
        told_by: file that says so.

    """

    reason: str
    lost_bytes: int
    lost_lines: int
    folder: str
    told_by: str


@record
class Unknown:
    """A failure that no signature knows.

    A file under ``checks/unknown/`` declares ``answer(unknown: Unknown) -> Finding | None``; the first answer counts.

    Args:
        kind: "exception": a process raised something of its own; "consequences": the logs show only processes that lost
            another one, or how one ended; "abrupt": no failure and no end.
        process, rank: who; "" and None where nothing tells.
        type: exception type without its module; `names`: short names its message quotes; `message`: what it says,
            from which its kind is told; `said`: its first sentence, where it is one; `worded`: what a later link says;
            `instead`: it was raised `from` another exception, which was not given.
        raised_in: innermost frame as "trainer.py:1576 (train)"; `library`, `library_version` of that file, "" unknown;
            `callers`: the libraries on the way there, nearest first.
        own: frames in the user's own code, innermost first, in the same form.
        others: ranks that failed because of it.
        exit_code, signal: how the process ended, where told; `after_end`: its log had said before that the run was
            through.
        waiting, absent: ranks that waited for others, and those that left no word.
        judged: names of the metrics that were judged, in which nothing wrong was found.
        steps: (done, all) of the training bar's last state.
        folded: Ray folded repeated lines away; `partial`: the log was too long to be read line by line.
        nature: what was given instead of a run's log: "empty", "zeros" (zero bytes alone), "binary", "wandb" (its own
            log), "foreign" (nothing of a run in it), "report" (about a machine), "notes" (on many problems), "wrapped"
            (cut into lines by a terminal); "" for a log, as far as can be told.
        unrecorded: what a console log lacks because it could not be written.
        sizes: (number, settings that have it) of numbers in the message.
        subject: expression in the innermost frame's line that lacks the attribute; `of_itself`: it is the library's own
            object, asked in its own code.
        begins: ids of problems whose messages begin as one that somebody cut off.

    """

    kind: Kind
    where: Where = Where()
    evidence: tuple[Observed, ...] = ()
    process: str = ""
    rank: int | None = None
    type: str = ""
    names: tuple[str, ...] = ()
    message: str = ""
    worded: str = ""
    raised_in: str = ""
    library: str = ""
    library_version: str = ""
    own: Sequence[str] = ()
    others: Sequence[int] = ()
    exit_code: int | None = None
    signal: str = ""
    waiting: Sequence[int] = ()
    absent: Sequence[int] = ()
    steps: tuple[int, int] | None = None
    folded: bool = False
    partial: bool = False
    nature: str = ""
    callers: Sequence[str] = ()
    begins: Sequence[str] = ()
    instead: bool = False
    unrecorded: Unrecorded | None = None
    after_end: bool = False
    judged: Sequence[str] = ()
    said: str = ""
    subject: str = ""
    of_itself: bool = False
    sizes: Sequence[tuple[int, tuple[str, ...]]] = ()
    count: int = 0


#: What was asked and is not there, by whom. A name that nothing has set, in a library's code ("name_library"), there
#: on another branch ("name_branch"), in the user's own ("name_own"), or one that is to be imported ("name_import"). An
#: entry of a saved state, of a row, of a table of names, of a configuration, of the environment ("key_..."). None, of
#: which something is asked: the arguments of a trainer, an output of a model, a match of a regular expression, or what
#: settings speak of ("none_..."). A call that its function does not take ("call_..."). An attribute that a class
#: lacks: asked by a library, by the library's own object, by the user's code, or of something that settings speak of
#: ("attribute_..."). An object of another class than the code reads ("other_type"). A value that a list does not hold,
#: and a checkpoint among them ("not_listed..."). A refusal whose own words failed ("refusal", `name` is what it was
#: about to say). A path that is not there ("path_..."): a program, one with blanks at its ends or with a variable left
#: in it, a folder in the place of a file or a file in that of a folder, one in a folder that others clear, a part of a
#: checkpoint, one that is relative to the working folder, any other. A value of the line that raised: None that an
#: option, a call or a reward left there, a position that a list does not have, a count of values, two lists of
#: different lengths, a divisor of 0, a text that is not a number, not JSON or not a pickle, negative ids, what a class
#: or function has not written, an assertion without a message. Functions that call each other without an end
#: ("recursion_...").
Asked = Literal[
    "name_library", "name_branch", "name_own", "name_import", "key_state", "key_row", "key_table", "key_setting",
    "key_variable", "none_arguments", "none_output", "none_match", "none_setting", "call_keyword", "call_count",
    "call_missing", "call_unpickled", "attribute_library", "attribute_itself", "attribute_own", "attribute_setting",
    "other_type", "not_listed", "not_listed_checkpoint", "refusal",
    "path_program", "path_blank", "path_unexpanded", "path_kind", "path_vanished", "path_part", "path_relative",
    "path_absent", "path_removed", "key_own", "tensor_of_text",
    "tensor_of_keys",
    "key_weight", "key_parameter", "next_of_none", "next_beyond",
    "none_option", "none_returned", "none_value", "none_reward", "none_handed", "none_left_out",
    "index_argument", "index_split", "index_empty", "index_beyond", "index_only", "index_nowhere", "index_size",
    "unpacked", "zip_unequal", "zero_length", "zero_value", "number_as_text",
    "number_of_text", "number_option", "json_text", "json_lines", "json_object", "pickle_pointer",
    "pickle_page", "pickle_empty", "pickle_other", "ids_negative", "abstract", "call_twice", "program_failed",
    "not_written", "asserted", "recursion_wrapped", "recursion_attribute", "recursion_circle", "recursion_itself",
    "recursion_replaced", "attribute_of_main", "no_dimension", "summed", "group_of_one", "key_stage",
    "item_of_several",
]  # fmt: skip


@record
class Mismatch:
    """An exception, taken apart.

    A file under ``checks/python/`` declares ``of_mismatch(mismatch: Mismatch) -> Finding | None``.

    Args:
        case: what was asked of whom.
        where, evidence: the exception.
        name: the name, key, attribute, argument, value or path that is asked for.
        of: the class, function or owner of which it is asked; "" where nothing tells.
        subject: the expression in the line that raised, "" where it is not shown.
        place: innermost frame that says something, as "trainer.py:1576 (train)"; "" where none is shown.
        asker: library in whose code that frame lies; `own`: it is the user's own code. Neither where no frame tells.
        version: of the asker, where told; `installed`: versions of the stack that the log and its context tell.
        mine: innermost frame of the user's own code, where it is another one than `place`.
        callers: libraries on the way there, nearest first.
        settings: those that speak of what is missing, or hold its path, as `name=value`.
        given, taken: of a call with another count of arguments.
        meant: a name that Python proposes instead.

    """

    case: Asked
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
