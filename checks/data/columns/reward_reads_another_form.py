"""Judges reward-reads-another-form (DAT0752), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Skip, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.settings import at
from doctor.catalogue.shared.trainers import is_grpo
from doctor.catalogue.words import words_of
from doctor.facts.dataset import Dataset
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem

#: kind of the dataset's prompts -> what a function may do with a completion, and does wrongly
_WRONG = {
    "conversation": {"text": TOML["text"], "length": TOML["length"]},
    "text": {"message": TOML["message"]},
}


def _form(training: Training, dataset: Dataset | None) -> tuple[str | None, str, Observed | None]:
    """Kind of the prompts, what has them, and what shows it: the script that makes them, else the data as they are."""
    rows = training.rows
    if rows is not None and rows.prompt_kind is not None:
        shown = Observed.quoted(rows.place.file, f"prompts: {rows.prompt_kind}", rows.place.line)
        return rows.prompt_kind, "train_dataset", shown
    if dataset is None or training.dataset_processed or dataset.processed:
        return None, "", None
    shown = Observed.quoted(dataset.path, f"prompts: {dataset.prompt_kind}")
    return dataset.prompt_kind, dataset.path.rpartition("/")[2], shown


@check(PROBLEM)
def reward_reads_another_form(training: Training, dataset: Dataset | None) -> Judgement:
    """One finding a function; rows that the script changes in ways not followed may have another form."""
    if not is_grpo(training):
        return
    form, name, shown = _form(training, dataset)
    if form is None and dataset is None and any(each.reads for each in training.reward_functions):
        yield Skip("neither the data nor the script shows the form of the prompts")
        return
    wrong = _WRONG.get(form or "", {})
    for function in training.reward_functions:
        kind = next((each for each in wrong if each in function.reads), None)
        if kind is None:
            continue
        yield found(
            PROBLEM,
            wrong[kind],
            name=function.name,
            dataset=name,
            where=at(function.place),
            severity=WARNING if kind == "length" else ERROR,
            confidence=LIKELY,
            evidence=(
                *([shown] if shown is not None else ()),
                Observed.quoted(function.place.file, f"def {function.name}", function.place.line),
            ),
        )
