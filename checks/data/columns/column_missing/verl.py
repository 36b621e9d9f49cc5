"""Judges DAT1825/verl, a row of column-missing; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.shared.trainers import listing
from doctor.catalogue.shared.verl_settings import has_own_rewards
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.dataset import Dataset
from doctor.facts.launch import Launch
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE_RAW = TOML["log_raw"]
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]


@check(PROBLEM)
def verl_columns_missing(launch: Launch, verl_config: VerlConfig, dataset: Dataset) -> Judgement:
    """The columns that veRL's own reward managers read, in the first row of the training data."""
    if launch.module != "verl.trainer.main_ppo" or not dataset.columns or has_own_rewards(verl_config):
        return
    key = verl_config.get("data.reward_fn_key")
    source = key.value if key is not None and key.known and isinstance(key.value, str) else "data_source"
    missing = [each for each in (source, "reward_model") if each not in dataset.columns]
    if missing:
        yield found(
            PROBLEM, MESSAGE, confidence=LIKELY, where=Where(file=dataset.path), missing=listing(missing),
            columns=listing(dataset.columns[:6]), file=dataset.path.rpartition("/")[2],
            evidence=(Observed.quoted(dataset.path, f"columns: {', '.join(dataset.columns)}"),),
        )  # fmt: skip


def explain(hits: Hits) -> Finding:
    """With the column."""
    raw = hits.get("raw")
    return found(
        PROBLEM,
        LOG_MESSAGE_RAW if raw else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        column=hits.get("column"),
        raw=raw,
    )
