"""Judges DAT1752/broken, a row of dataset-not-loaded; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.dataset import Dataset

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
STRADDLING = TOML["straddling"]
MESSAGE = TOML["main"]


@check(PROBLEM)
def dataset_broken(dataset: Dataset) -> Judgement:
    """Hand on what the reader found."""
    if dataset.broken is not None:
        place = dataset.broken.place
        yield found(
            PROBLEM,
            MESSAGE,
            where=Where(file=place.file, line=place.line, column=place.column),
            path=dataset.path.rpartition("/")[2],
            message=dataset.broken.message.rstrip("."),
        )


def explain(hits: Hits) -> Finding:
    """An object that is too large is no broken file."""
    message = STRADDLING if hits.get("straddling") else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
