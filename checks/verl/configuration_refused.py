"""veRL refuses its configuration.

## What it means
The program checks its settings before it trains and refuses those that contradict each other, are missing, or
that the release does not support. Its message names them.
## What it does to a run
The command ends before the first step.
## What to do
Correct the settings that are named.
## How it is found
Before launch, the advantage estimator by the list in the sources of the installed veRL. In a log: an assertion or a
ValueError that is raised in the validation of the program itself, and that names settings.
## References
https://verl.readthedocs.io/en/latest/examples/config.html
https://github.com/verl-project/verl/blob/main/verl/utils/config.py
https://github.com/volcengine/verl/blob/v0.9.1/verl/trainer/ppo/core_algos.py
"""

from __future__ import annotations

import re
from difflib import get_close_matches

from doctor.checks.launch._refusals import AREAS, BARE, REFUSED, about_data, refused
from doctor.checks.verl._helpers import Verl, place_settings, verl_of
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.choices import Choices
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(id="VRL016", name="verl-configuration-refused", severity=ERROR, since="0.1")

FRAME = r"[\\/]verl[\\/](?:trainer|workers|utils|protocol|single_controller|models|experimental)"

SIGNATURES = (
    Signature(
        REFUSED,
        frame=FRAME,
        symptom_of=AREAS,
    ),
    Signature(BARE, frame=FRAME, symptom_of=AREAS),
    Signature(
        r"^\s{1,12}assert (?P<asserted>(?:self\.)?config\.(?:data|actor_rollout_ref|critic|trainer|alg"
        r"orithm|reward_model|actor|rollout)\.[^\n]{0,240})",
        symptom_of=AREAS,
    ),
)


#: what these messages list is the state of the run, not what somebody set
_STATE = re.compile(r"\bdict_keys\(\[<|\bhas \d{1,6} (?:actors|workers)\b")


ESTIMATOR = Message(
    en=Words(
        "`algorithm.adv_estimator={value}` is no estimator of veRL {version}",
        "veRL looks the name up when the first advantages are computed, after a whole rollout, and ends with `Unknown "
        "advantage estimator`. Only code of your own that registers the name could add it.",
        "Write one that it has: {known}.",
    ),
    zh=Words(
        "`algorithm.adv_estimator={value}` 不是 veRL {version} 的优势估计器",
        "veRL 在完成一次 rollout、第一次计算优势时才查找该名称,并以 `Unknown advantage estimator` 退出。只有你自己注册"
        "该名称的代码才能增加它。",
        "改为它支持的名称:{known}。",
    ),
)

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
