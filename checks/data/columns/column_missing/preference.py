"""Judges DAT1825/preference, a row of column-missing; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.base.evidence import Observed
from doctor.base.record import replace
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Where, found
from doctor.catalogue.shared.trainers import certainty, listing
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
FRAMEWORK = TOML["framework"]


_FRAMEWORKS = (
    (re.compile(r"(?:^|[\\/])swift[\\/]"), "ms-swift"),
    (re.compile(r"(?:^|[\\/])(?:llamafactory|llmtuner)[\\/]"), "LLaMA-Factory"),
)


#: columns of pairs and of judged answers (https://huggingface.co/docs/trl/dataset_formats)
_READS = {
    "DPOTrainer": ("chosen", "rejected"), "RewardTrainer": ("chosen", "rejected"), "CPOTrainer": ("chosen", "rejected"),
    "ORPOTrainer": ("chosen", "rejected"), "KTOTrainer": ("completion", "label"),
}  # fmt: skip
#: rows of which a trainer for images makes its own
_OTHERWISE = frozenset({"images", "image"})


@check(PROBLEM)
def preference_columns_missing(training: Training) -> Judgement:
    """The columns that a trainer of preferences reads, where the script shows all that its rows have."""
    rows, reads = training.rows, _READS.get(training.trainer or "")
    if rows is None or reads is None or not rows.complete or _OTHERWISE & set(rows.columns):
        return
    if any("input_ids" in each or each.endswith("_ids") for each in rows.columns):
        return
    if training.trainer == "KTOTrainer" and {"chosen", "rejected"} <= set(rows.columns):
        return
    missing = [each for each in reads if each not in rows.columns]
    if missing and certainty(training) == CONFIRMED:
        place = rows.place
        yield found(
            PROBLEM, TOML["main"], confidence=LIKELY,
            where=Where(file=place.file, line=place.line, column=place.column),
            trainer=training.trainer, missing=listing(missing), columns=listing(rows.columns[:6]),
            evidence=(Observed.quoted(place.file, f"columns: {', '.join(rows.columns)}", place.line),),
        )  # fmt: skip


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for; a framework in between makes the fields itself."""
    frames = hits.first.frames
    framework = next((name for part, name in _FRAMEWORKS if any(map(part.search, frames))), None)
    if framework and hits.first.signature == 1:
        return found(
            PROBLEM, FRAMEWORK, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, framework=framework,
            column=hits.get("column"),
        )  # fmt: skip
    return replace(TOML.finding(hits), confidence=LIKELY)
