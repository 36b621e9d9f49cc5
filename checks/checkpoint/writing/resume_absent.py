"""Judges resume-checkpoint-absent (CKP004), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Where, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.checkpoints import Checkpoints

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_ENGINE = TOML["log_engine"]
LOG_MESSAGE_UNREAD = TOML["log_unread"]
LOG_MESSAGE_FOLDER = TOML["log_folder"]
LOG_MESSAGE_PART = TOML["log_part"]
LOG_MESSAGE_RANK = TOML["log_rank"]
LOG_MESSAGE_INDEX = TOML["log_index"]
LOG_MESSAGE_STEP = TOML["log_step"]


#: the function that looks for the engine's state; the Trainer's own look-up of weights ends with the same words
_ENGINE = "deepspeed_load_checkpoint"


@check(PROBLEM)
def resume_absent(checkpoints: Checkpoints) -> Judgement:
    """Look where the call of `train` will look; one that stands in a branch is left out."""
    told = checkpoints.absent
    if told is None:
        return
    message = LOG_MESSAGE_FOLDER if told.value is True else LOG_MESSAGE
    yield found(PROBLEM, message, where=place_of(told), evidence=quoted(told), path=checkpoints.searched)


def explain(hits: Hits) -> Finding | None:
    """Tell a named checkpoint from the search for the last one; the whole path, for commands hold it."""
    path, folder, holder = hits.get("path"), hits.get("folder"), hits.get("holder")
    part = hits.get("part") or ""
    rank = re.fullmatch(r"random_states_(0*[1-9]\d*)\.pkl", part)
    if rank:
        return found(
            PROBLEM, LOG_MESSAGE_RANK, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, part=part,
            process=rank[1], path=holder,
        )  # fmt: skip
    if hits.get("missing"):
        return found(PROBLEM, LOG_MESSAGE_STEP, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    if indexless := hits.get("indexless"):
        return found(
            PROBLEM, LOG_MESSAGE_INDEX, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            path=indexless,
        )  # fmt: skip
    unread = hits.get("unread")
    if unread or (path and any(_ENGINE in frame for hit in hits for frame in hit.frames[-1:])):
        return found(
            PROBLEM, LOG_MESSAGE_UNREAD if unread else LOG_MESSAGE_ENGINE, where=hits.where(),
            evidence=hits.evidence(), confidence=CONFIRMED, path=unread or path,
        )  # fmt: skip
    return found(
        PROBLEM, LOG_MESSAGE_PART if part else LOG_MESSAGE if path else LOG_MESSAGE_FOLDER,
        where=hits.where(), evidence=hits.evidence(), part=part, confidence=LIKELY if part else CONFIRMED,
        path=path or folder or holder,
    )  # fmt: skip


def of_courses(courses: Courses) -> Finding | None:
    """A run that names a checkpoint and begins from nothing all the same."""
    anew = courses.anew
    if anew is None:
        return None
    where = Where(file=anew.line.origin.source, line=anew.line.origin.line)
    return found(
        PROBLEM, TOML["anew"], confidence=LIKELY, where=where, evidence=(anew.line,), losses=anew.losses or "",
    )  # fmt: skip
