"""Judges LCH6560/verl, a row of configuration-refused; its words stand in the TOML of the table."""

from __future__ import annotations

from difflib import get_close_matches

from doctor.base.patterns import later
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.refusals import about_data, refused
from doctor.catalogue.shared.verl_settings import Verl, place_settings, verl_of
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.choices import Choices
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
ESTIMATOR = TOML["estimator"]


FRAME = r"[\\/]verl[\\/](?:trainer|workers|utils|protocol|single_controller|models|experimental)"


#: what these messages list is the state of the run, not what somebody set
_STATE = later(r"\bdict_keys\(\[<|\bhas \d{1,6} (?:actors|workers)\b")


KEY = "algorithm.adv_estimator"


@check(PROBLEM)
def configuration_refused(
    verl_config: VerlConfig, packages: Packages, launch: Launch, choices: Choices | None
) -> Judgement:
    """Judge a name that the user wrote; `external_lib` imports code that may register another."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    setting, known = verl_config.get(KEY), choices.of("verl.AdvantageEstimator") if choices is not None else ()
    if setting is None or not setting.known or not isinstance(setting.value, str) or not known:
        return
    if setting.value in known or "$" in setting.value or any("external_lib" in key for key in verl_config.overrides):
        return
    near = get_close_matches(setting.value, known, 3, 0.5) or known[:8]
    yield found(
        PROBLEM, ESTIMATOR, confidence=LIKELY, where=place_of(*place_settings(verl, KEY)), evidence=verl.quoted(KEY),
        commands=tuple(f"{KEY}={each}" for each in near[:3]), value=setting.value, version=verl.version,
        known=", ".join(f"`{each}`" for each in near),
    )  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """Only where the message names settings and tells their relation."""
    told = hits.get("message") or ""
    if _STATE.search(told) or about_data(told):
        return None
    return refused(PROBLEM, "veRL", hits, FRAME)
