"""Judges deepspeed-value-refused (DSP008), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.base.patterns import later
from doctor.base.spelling import nearest
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Confidence, Finding, Phrase, found
from doctor.catalogue.settings import number, place_of, whole
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.deepspeed._helpers import unread
from doctor.checks.deepspeed._keys import KEYS, NEWEST_READ
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_FIELD = TOML["log_field"]
KEY = TOML["key"]
STRANGE = TOML["strange"]
NOT_WHOLE = TOML["not_whole"]
VALUE = TOML["value"]
SECTION = TOML["section"]


#: pydantic's list: the field, and below it why it is refused, with the value that was given
#: https://docs.pydantic.dev/latest/errors/errors/
_FIELD = later(
    r"^(?P<field>[A-Za-z_][\w.]{0,80})\n\s{1,4}(?P<reason>[^\n\[]{4,200})"
    r"(?:\[type=\w{1,60}, input_value=(?P<value>[^,\n]{1,60}))?",
    re.MULTILINE,
)
#: sections that are checked from 0.17.1 on only; their whole numbers; and how alike a misspelt key is to the right one
_OF_PRECISION = ("fp16", "bf16")
_WHOLE = ("min_loss_scale", "initial_scale_power", "loss_scale_window", "hysteresis")


@check(PROBLEM)
def unknown_key(deepspeed: DeepspeedConfig | None, packages: Packages, training: Training | None) -> Judgement:
    """The longest section that covers a key decides, so keys of free dictionaries are left alone."""
    if deepspeed is None:
        yield from unread(training)
        return
    if deepspeed.broken:
        return
    sure = _sure(packages)
    for name, setting in deepspeed.settings.items():
        section, _, key = name.rpartition(".")
        known = KEYS.get(section)
        if known is None or key in known or (section in _OF_PRECISION and _is_lax(packages)):
            continue
        near = nearest(key, known)
        yield found(
            PROBLEM,
            KEY if near else STRANGE,
            section=section,
            key=key,
            nearest=near or "",
            where=place_of(setting),
            confidence=sure,
            evidence=(proof(setting),),
        )


@check(PROBLEM)
def impossible_value(deepspeed: DeepspeedConfig | None, packages: Packages) -> Judgement:
    """Stage and offload devices."""
    if deepspeed is None or deepspeed.broken:
        return
    zero = "zero_optimization"
    for key in (f"{zero}.stage", f"{zero}.offload_optimizer.device", f"{zero}.offload_param.device"):
        setting = deepspeed.settings.get(key)
        if setting is None or not setting.known or setting.value in {"auto", None}:
            continue
        good = whole(setting.value) in range(4) if key.endswith("stage") else setting.value in {"none", "cpu", "nvme"}
        if not good:
            yield found(
                PROBLEM,
                VALUE,
                key=key,
                value=repr(setting.value),
                choices="0, 1, 2, 3" if key.endswith("stage") else "none, cpu, nvme",
                where=place_of(setting),
                confidence=_sure(packages),
                evidence=(proof(setting),),
            )


@check(PROBLEM)
def no_section(deepspeed: DeepspeedConfig | None, packages: Packages) -> Judgement:
    """A plain value where a section is read; null is as good as nothing."""
    if deepspeed is None or deepspeed.broken:
        return
    for section in (each for each in KEYS if "." in each):
        setting = deepspeed.settings.get(section)
        if setting is None or not setting.known or setting.value is None or isinstance(setting.value, (dict, list)):
            continue
        yield found(
            PROBLEM, SECTION, section=section, value=repr(setting.value), where=place_of(setting),
            confidence=_sure(packages), evidence=(proof(setting),),
        )  # fmt: skip


@check(PROBLEM)
def fraction(deepspeed: DeepspeedConfig | None, packages: Packages) -> Judgement:
    """Whole numbers of the section fp16, which releases before 0.17.1 did not check."""
    if deepspeed is None or deepspeed.broken or _is_lax(packages):
        return
    for key in _WHOLE:
        setting = deepspeed.settings.get(f"fp16.{key}")
        value = number(setting.value) if setting is not None and setting.known else None
        if setting is None or value is None or value == int(value):
            continue
        least = key == "min_loss_scale"
        yield found(
            PROBLEM,
            NOT_WHOLE,
            key=f"fp16.{key}",
            value=repr(setting.value),
            least=least,
            where=place_of(setting),
            confidence=_sure(packages),
            evidence=(proof(setting),),
        )


def _is_lax(packages: Packages) -> bool:
    """Whether the installed release leaves unknown keys of fp16 and bf16 alone."""
    return packages.matches("deepspeed", "<0.17.1") is True


def _sure(packages: Packages) -> Confidence:
    return CONFIRMED if packages.matches("deepspeed", NEWEST_READ) else LIKELY


def explain(hits: Hits) -> Finding | None:
    """Name the section that was refused, and the field and the reason where pydantic's list is there."""
    told = next((match for hit in hits if (match := _FIELD.search(hit.more))), None)
    if told is not None:
        strange = told["reason"].startswith("Extra inputs")
        return found(
            PROBLEM,
            LOG_FIELD,
            where=hits.where(),
            evidence=hits.evidence(),
            section=hits.get("section") or "",
            field=told["field"],
            wanted=_wanted(told["reason"]),
            advice=TOML.phrase("take_out" if strange else "correct", field=told["field"], value=told["value"]),
        )
    section = hits.get("section") or "zero_optimization.stage"
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), section=section)


def _wanted(reason: str) -> Phrase:
    """What was wanted; the names of these phrases are words of pydantic's reasons."""
    return next((words for part, words in TOML.phrases("wanted").items() if part in reason), TOML.phrase("unfit"))
