"""Judges DAT1752/split, a row of dataset-not-loaded; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.settings import at
from doctor.catalogue.shared.trainers import certainty
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
UNLISTED = TOML["unlisted"]
WHOLE = TOML["whole"]
TOGETHER = TOML["together"]
SINGLE = TOML["single"]


@check(PROBLEM)
def whole_dictionary(training: Training) -> Judgement:
    """Judge what the trainer is given where the script shows that it took all splits."""
    rows = training.rows
    if rows is None or not rows.of_splits:
        return
    yield found(
        PROBLEM,
        WHOLE,
        where=at(rows.place),
        confidence=certainty(training),
        evidence=(Observed.quoted(rows.place.file, "train_dataset: all splits of `load_dataset`", rows.place.line),),
        splits=None,
        split="train",
    )


def explain(hits: Hits) -> Finding | None:
    """Name the splits that exist."""
    asked = hits.first.groups.get("method") or hits.first.groups.get("mapping")
    if asked:
        message = TOGETHER if hits.first.groups.get("method") else SINGLE
        return found(
            PROBLEM,
            message,
            where=hits.where(),
            evidence=hits.evidence(),
            confidence=LIKELY,
            method=asked,
            mapping=asked,
        )
    if not hits.get("splits"):
        return found(PROBLEM, UNLISTED, where=hits.where(), evidence=hits.evidence(), split=hits.get("split"))
    names = re.findall(r"'([^']{1,60})'", hits.get("splits") or "")
    splits = ", ".join(f"`{name}`" for name in names[:8]) or "none"
    where, evidence = hits.where(), hits.evidence()
    if hits.of(1) and names:
        split = "train" if "train" in names else names[0]
        return found(PROBLEM, WHOLE, where=where, evidence=evidence, splits=splits, split=split)
    return found(PROBLEM, LOG_MESSAGE, where=where, evidence=evidence, split=hits.get("split"), splits=splits)
