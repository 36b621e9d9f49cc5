"""Judges reward-reads-another-form (DAT0752), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
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


@check(PROBLEM)
def reward_reads_another_form(training: Training, dataset: Dataset) -> Judgement:
    """One finding a function; rows that the script changes may have another form."""
    if not is_grpo(training) or training.dataset_processed or dataset.processed:
        return
    wrong = _WRONG.get(dataset.prompt_kind or "", {})
    for function in training.reward_functions:
        kind = next((each for each in wrong if each in function.reads), None)
        if kind is None:
            continue
        yield found(
            PROBLEM,
            wrong[kind],
            name=function.name,
            dataset=dataset.path.rpartition("/")[2],
            where=at(function.place),
            severity=WARNING if kind == "length" else ERROR,
            confidence=LIKELY,
            evidence=(
                Observed.quoted(dataset.path, f"prompts: {dataset.prompt_kind}"),
                Observed.quoted(function.place.file, f"def {function.name}", function.place.line),
            ),
        )
