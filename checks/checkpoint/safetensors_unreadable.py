"""Judges safetensors-unreadable (CKP005), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.checkpoints import Checkpoints

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_CUT = TOML["log_cut"]
MESSAGE = TOML["main"]


@check(PROBLEM)
def safetensors_cut_off(checkpoints: Checkpoints) -> Judgement:
    """One finding a folder; a file that is still being written looks the same."""
    for each in checkpoints.found:
        cut = [file for file in each.cut_off if file.name.endswith(".safetensors")]
        if cut:
            yield found(
                PROBLEM,
                MESSAGE,
                confidence=LIKELY,
                where=Where(file=f"{each.folder}/{cut[0].name}", step=each.step),
                evidence=tuple(
                    Observed.quoted(f"{each.folder}/{file.name}", f"{file.size_bytes} bytes") for file in cut[:4]
                ),
                name="/".join((each.folder.rpartition("/")[2], cut[0].name)),
                size=f"{cut[0].size_bytes:,}",
                needed=f"{cut[0].needed_bytes or 8:,}",
            )


def explain(hits: Hits) -> Finding | None:
    """Text read as a length makes an enormous header; everything else is a cut or damaged file."""
    pointer = "arge" in (hits.get("kind") or "")
    message = LOG_MESSAGE if pointer else LOG_MESSAGE_CUT
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
