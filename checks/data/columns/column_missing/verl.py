"""Judges DAT1825/verl, a row of column-missing; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.shared.trainers import listing
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

#: these read `reward_model.ground_truth` of each row (verl/workers/reward_manager/)
_OF_ROWS = frozenset({"naive", "prime", "batch", "dapo"})
#: what other rewards, loaders and loops of the user's own are named by
_OWN = ("data.custom_cls.path", "reward_model.enable", "reward.reward_model.enable", "reward.reward_manager.source")


@check(PROBLEM)
def verl_columns_missing(launch: Launch, verl_config: VerlConfig, dataset: Dataset) -> Judgement:
    """The columns that veRL's own reward managers read, in the first row of the training data."""
    if launch.module != "verl.trainer.main_ppo" or not dataset.columns or _of_its_own(verl_config):
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


def _of_its_own(verl_config: VerlConfig) -> bool:
    """Whether rows are loaded or scored by something else, as far as that is told."""
    manager = verl_config.get("reward_model.reward_manager") or verl_config.get("reward.reward_manager.name")
    named = (verl_config.get(name) for name in _OWN)
    own = any(each is not None and (not each.known or each.value not in {None, False, "register"}) for each in named)
    return own or (manager is not None and manager.value not in _OF_ROWS)


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
