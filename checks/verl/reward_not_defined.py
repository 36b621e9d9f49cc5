"""Judges reward-not-defined (VRL024), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Where, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.verl_settings import OWN_FUNCTIONS, has_own_rewards
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.dataset import Dataset
from doctor.facts.launch import Launch
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]


_CHOICE = r"reward_score[\\/]__init__\.py:"
#: `default_compute_score` of 0.3 to 0.7: a name that a later release has is not judged for an earlier one
#: (https://github.com/volcengine/verl/blob/v0.7.0/verl/utils/reward_score/__init__.py)
_KNOWN = frozenset({
    "openai/gsm8k", "lighteval/MATH", "DigitalLearningGmbH/MATH-lighteval", "HuggingFaceH4/MATH-500", "math_dapo",
    "math", "math_dapo_reasoning", "numina_aops_forum", "numina_synthetic_math", "numina_amc_aime",
    "numina_synthetic_amc", "numina_cn_k12", "numina_olympiads", "codecontests", "apps", "codeforces", "taco",
    "hiyouga/geometry3k", "searchR1_nq", "searchR1_triviaqa", "searchR1_popqa", "searchR1_hotpotqa",
    "searchR1_2wikimultihopqa", "searchR1_musique", "searchR1_bamboogle",
})  # fmt: skip
_BEGINNING = "aime"


@check(PROBLEM)
def source_without_reward(launch: Launch, verl_config: VerlConfig, dataset: Dataset | None) -> Judgement:
    """What the rows hold, or what a script that makes them before writes into them."""
    if launch.module != "verl.trainer.main_ppo" or has_own_rewards(verl_config):
        return
    key = verl_config.get("data.reward_fn_key")
    if any(verl_config.get(name) is not None for name in OWN_FUNCTIONS) or key is not None:
        return
    held = dataset.extremes.get("data_source", ()) if dataset is not None else ()
    others = [each for each in dict.fromkeys(held) if not _is_known(each)]
    if dataset is not None and others:
        shown = f"data_source: {others[0]!r}"
        yield found(
            PROBLEM, MESSAGE, confidence=LIKELY, where=Where(file=dataset.path), source=others[0],
            evidence=(Observed.quoted(dataset.path, shown),),
        )  # fmt: skip
        return
    for each in verl_config.sources if not held else ():
        if not _is_known(each.value):
            yield found(
                PROBLEM, MESSAGE, confidence=LIKELY, where=place_of(each), source=each.value, evidence=(each,)
            )  # fmt: skip
            return


def _is_known(source: str) -> bool:
    return source in _KNOWN or source.startswith(_BEGINNING)


def explain(hits: Hits) -> Finding | None:
    """Old releases do not say which data source it is: there the choice itself must have raised."""
    named = hits.get("source")
    told = named is not None or any("data_source=" in each.text for each in hits)
    if not told and not re.search(_CHOICE, hits.first.frames[-1]):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        source=TOML.phrase("source.named", named=named or "") if told else TOML.phrase("source.some"),
    )  # fmt: skip
