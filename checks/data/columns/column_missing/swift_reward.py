"""Judges DAT1825/swift_reward, a row of column-missing; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import listing, quoted
from doctor.catalogue.words import words_of
from doctor.facts.dataset import Dataset
from doctor.facts.training import SWIFT, Training

TOML = words_of(__name__)
PROBLEM = TOML.problem

#: rewards that ms-swift brings, and the column that each takes as a required argument
#: (https://github.com/modelscope/ms-swift/blob/v4.5.2/swift/rewards/orm.py)
_TAKES = {"accuracy": "solution", "cosine": "solution"}
#: settings by which columns get other names, or the names other functions
_OWN = ("columns", "external_plugins", "custom_register_path", "custom_dataset_info", "plugin")


@check(PROBLEM)
def swift_reward_column_missing(training: Training, dataset: Dataset) -> Judgement:
    """The columns that built-in rewards take, in the first row of the training data."""
    setting = training.get("reward_funcs")
    if training.config_origin != SWIFT or setting is None or not setting.known or not dataset.columns:
        return
    if any(name in training.arguments for name in _OWN):
        return
    names = setting.value if isinstance(setting.value, (list, tuple)) else str(setting.value).split()
    for name in names:
        column = _TAKES.get(str(name))
        if column is not None and column not in dataset.columns:
            yield found(
                PROBLEM, TOML["main"], confidence=LIKELY, where=place_of(setting),
                evidence=(*quoted(setting), Observed.quoted(dataset.path, f"columns: {', '.join(dataset.columns)}")),
                reward=str(name), column=column, columns=listing(dataset.columns[:6]),
                file=dataset.path.rpartition("/")[2],
            )  # fmt: skip
            return
