"""Judges LCH0284/transformers, a row of value-unknown; its words stand in the TOML of the table."""

from __future__ import annotations

from difflib import get_close_matches

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.choices import Choices
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]
UNQUOTED = TOML["unquoted"]


#: argument -> enumerations that decide, newest first
ENUMERATIONS = {
    "optim": ("transformers.OptimizerNames",),
    "lr_scheduler_type": ("transformers.SchedulerType",),
    "eval_strategy": ("transformers.IntervalStrategy",),
    "evaluation_strategy": ("transformers.IntervalStrategy",),
    "logging_strategy": ("transformers.IntervalStrategy",),
    "save_strategy": ("transformers.SaveStrategy", "transformers.IntervalStrategy"),
    "hub_strategy": ("transformers.HubStrategy",),
}


@check(PROBLEM)
def choice_refused(training: Training, packages: Packages, choices: Choices) -> Judgement:
    """Judge what is said when the arguments are made; a class of the user's may translate its own words first."""
    origin = training.config_origin
    certain = not origin or origin.startswith(("trl.", "transformers."))
    for name, kinds in ENUMERATIONS.items():
        setting, known = training.get(name), choices.of(*kinds)
        if setting is None or not setting.known or not known or name in training.set_later | training.shared:
            continue
        if not isinstance(setting.value, (str, bool)) or setting.value in known or "$" in str(setting.value):
            continue
        yield _refused(setting, name, known, packages.version("transformers") or "", certain=certain)


def _refused(setting: Observed, name: str, known: tuple[str, ...], version: str, *, certain: bool) -> Finding:
    near = get_close_matches(str(setting.value), known, 3, 0.5) or list(known[:_MOST])
    unquoted = setting.value is False and "no" in known
    return found(
        PROBLEM, UNQUOTED if unquoted else MESSAGE, where=place_of(setting), evidence=quoted(setting), name=name,
        commands=(f'{name}: "no"',) if unquoted else tuple(f'{name}="{each}"' for each in near[:3]),
        value=setting.text or setting.value, version=version, known=", ".join(f"`{each}`" for each in near),
        confidence=CONFIRMED if certain else LIKELY,
    )  # fmt: skip


_WHAT = TOML.phrases("what")
_MOST = 8


def explain(hits: Hits) -> Finding | None:
    """List what there is to choose from, the likeliest first."""
    value, kind = hits.get("value") or "", hits.get("kind") or ""
    choices = [each.strip("' ") for each in (hits.get("choices") or "").strip("[]").split(",")]
    near = get_close_matches(value, choices, _MOST, 0.3) or choices[:_MOST]
    installed = hits.versions.get("transformers")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), value=value,
        what=_WHAT.get(kind, _WHAT["other"]),
        choices=", ".join(f"`{each}`" for each in near), version=f" {installed}" if installed else "",
    )  # fmt: skip
