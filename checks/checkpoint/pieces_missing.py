"""Judges checkpoint-pieces-missing (CKP016), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Where, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.checkpoint._pieces import shown
from doctor.facts.checkpoints import WEIGHTS, Checkpoints

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE_RANK = TOML["log_rank"]
OTHER_WORLD = TOML["other_world"]
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]
METADATA = TOML["metadata"]


@check(PROBLEM)
def pieces_missing(checkpoints: Checkpoints) -> Judgement:
    """A run that is saving right now looks the same for a moment."""
    for each in checkpoints.found:
        if each.kind == WEIGHTS or not each.missing:
            continue
        yield found(
            PROBLEM,
            MESSAGE,
            confidence=LIKELY,
            where=Where(file=each.folder, step=each.step),
            evidence=(
                Observed.quoted(each.folder, f"{each.files} files are there; missing: {', '.join(each.missing[:4])}"),
            ),
            folder=shown(each.folder),
            count=len(each.missing),
            first=each.missing[0].rpartition("/")[2],
        )


def explain(hits: Hits) -> Finding:
    """One rank's shard, the table of a distributed checkpoint, or a count of ZeRO's partitions.

    The merger reads the number of ranks from the checkpoint, a run that resumes takes its own.
    """
    place = hits.get("place")
    if place:
        return found(
            PROBLEM, METADATA, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, place=shown(place)
        )
    rank = hits.get("rank")
    merging = any("merger" in frame for frame in hits.first.frames)
    return found(
        PROBLEM,
        (LOG_MESSAGE_RANK if merging else OTHER_WORLD) if rank else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if merging or not rank else LIKELY,
        rank=rank or "",
        ranks=hits.get("ranks") or "",
        there=hits.get("there") or "",
        world=hits.get("world") or "",
    )
