"""Judges prompt-outlier (DAT008), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Where, found
from doctor.catalogue.shared.trainers import is_grpo
from doctor.catalogue.words import words_of
from doctor.facts.dataset import Dataset
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: how many medians make an outlier: twenty, our own choice, far above the spread of ordinary prompt sets
TIMES = 20

#: below this length no window of today's models is in danger: about 5,000 tokens of English at 4 characters each
CHARACTERS = 20_000


@check(PROBLEM)
def prompt_outlier(dataset: Dataset, training: Training) -> Judgement:
    """Judge lengths in characters; tokens are not counted."""
    median, longest = dataset.prompt_chars_median, dataset.prompt_chars_max
    if not is_grpo(training) or not median or not longest or training.dataset_processed:
        return
    if longest > TIMES * median and longest > CHARACTERS:
        yield found(
            PROBLEM,
            MESSAGE,
            where=Where(file=dataset.path, line=dataset.longest_row),
            evidence=(
                Observed.quoted(dataset.path, f"median {median}, longest {longest} characters", dataset.longest_row),
            ),
            longest=longest,
            times=longest // median,
            row=dataset.longest_row or "?",
        )
