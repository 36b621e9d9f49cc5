"""Judges torch-file-corrupt (CKP006), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Where, found
from doctor.catalogue.words import words_of
from doctor.facts.checkpoints import Checkpoints

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def torch_file_cut_off(checkpoints: Checkpoints) -> Judgement:
    """One finding a folder; told by the files' ends alone, and a save that is under way looks the same."""
    for each in checkpoints.found:
        cut = [file for file in each.cut_off if not file.name.endswith(".safetensors")]
        if cut:
            yield found(
                PROBLEM,
                MESSAGE,
                confidence=LIKELY,
                where=Where(file=f"{each.folder}/{cut[0].name}", step=each.step),
                evidence=tuple(
                    Observed.quoted(f"{each.folder}/{file.name}", f"{file.size_bytes} bytes, no end of archive")
                    for file in cut[:4]
                ),
                name="/".join((each.folder.rpartition("/")[2], cut[0].name)),
                size=f"{cut[0].size_bytes:,}",
            )
