"""Judges collective-on-one-rank (NCC9344), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.settings import at
from doctor.catalogue.words import words_of
from doctor.facts.script import LoneCall, Script
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
SHARDED = TOML["sharded"]
LEFT = TOML["left"]
_STAGE_OF_WEIGHTS = 3


@check(PROBLEM)
def collective_on_one_rank(script: Script, world: World | None) -> Judgement:
    """One finding a call; a command that is not known to start several processes starts one."""
    processes = world.processes if world is not None else None
    if world is not None and (processes is None or processes < 2):
        return
    by = _partitioned_by(world) if world is not None else None
    for each in script.lone_calls:
        if each.sharded and by is None:
            continue
        yield found(
            PROBLEM,
            SHARDED if each.sharded else MESSAGE,
            where=at(each.place),
            evidence=_quoted(each),
            confidence=LIKELY,
            name=each.name,
            test=each.test,
            processes=processes,
            by=by,
        )


def of_rehearsal(waiting: int, left: int, file: str, line: int, said: str) -> Finding:
    """One process lost the connection to another one that had come to the end of the program.

    Args:
        waiting: rank of the process that failed.
        left: of the one that ended without an error.
        file: of the user's own code in which the first one was.
        line: of that file.
        said: the exception.

    """
    return found(
        PROBLEM, LEFT, confidence=LIKELY, where=Where(file=file, line=line, rank=waiting), waiting=waiting, left=left,
        place=f"{file.replace(chr(92), '/').rpartition('/')[2]}:{line}",
        evidence=(Observed.quoted(file, said, line),),
    )  # fmt: skip


def _partitioned_by(world: World) -> str | None:
    if world.backend == "fsdp":
        return "FSDP"
    return "ZeRO-3" if world.zero_stage == _STAGE_OF_WEIGHTS else None


def _quoted(each: LoneCall) -> tuple[Observed, ...]:
    return (
        Observed.quoted(each.test_place.file, each.test, each.test_place.line),
        Observed.quoted(each.place.file, each.name, each.place.line),
    )
