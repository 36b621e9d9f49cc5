"""Judges DAT1825/sft_text, a row of column-missing; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Where, found
from doctor.catalogue.shared.trainers import certainty, listing
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.script import Script
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


#: columns that SFTTrainer reads without being told (https://huggingface.co/docs/trl/dataset_formats)
_READS = frozenset({"messages", "conversations", "completion", "input_ids", "images", "image"})


@check(PROBLEM)
def sft_text_missing(training: Training, script: Script) -> Judgement:
    """The columns of text, where the script shows all that its rows have."""
    rows = training.rows
    if training.trainer != "SFTTrainer" or rows is None or not rows.complete or not training.complete:
        return
    setting = training.get("dataset_text_field") or training.trainer_arguments.get("dataset_text_field")
    if setting is not None and not setting.known:
        return
    field = str(setting.value) if setting is not None and setting.value else "text"
    told = {"formatting_func", "data_collator"} & training.trainer_arguments.keys()
    kwargs = training.get("dataset_kwargs")
    if told or kwargs is not None or any(each.startswith("unsloth") for each in script.imports):
        return
    if not ({field} | _READS) & set(rows.columns) and certainty(training) == CONFIRMED:
        place = rows.place
        yield found(
            PROBLEM, TOML["main"], confidence=LIKELY,
            where=Where(file=place.file, line=place.line, column=place.column),
            columns=listing(rows.columns[:6]), field=field,
            evidence=(Observed.quoted(place.file, f"columns: {', '.join(rows.columns)}", place.line),),
        )  # fmt: skip


def explain(hits: Hits) -> Finding:
    """Name the column that was asked for, where one was."""
    column = hits.get("column")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        column=column,
    )  # fmt: skip
