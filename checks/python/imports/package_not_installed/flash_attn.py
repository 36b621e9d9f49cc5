"""Judges PYT3270/flash_attn, a row of package-not-installed; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.shared.wanted_attention import asked_attention, falls_back_to_kernels, flash_version
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
OLDER = TOML["older"]
PART = TOML["part"]
LOG_MESSAGE = TOML["log"]
IMPORTED = TOML["imported"]
NEWER = TOML["newer"]
MESSAGE = TOML["main"]


#: hardware with an implementation of its own
_OTHER_HARDWARE = ("torch-npu", "torch-mlu", "torch-musa")


def explain(hits: Hits) -> Finding:
    """A package without its compiled part is another matter than none."""
    part, module = hits.get("part"), hits.get("module")
    if module and not part:
        return found(
            PROBLEM,
            OLDER,
            where=hits.where(),
            evidence=hits.evidence(),
            confidence=LIKELY,
            module=f"flash_attn{module}",
        )
    version = hits.get("version") or ""
    toggled = NEWER if version not in ("", "2") else LOG_MESSAGE
    return found(
        PROBLEM, PART if part else toggled if hits.of(0) else IMPORTED, where=hits.where(),
        evidence=hits.evidence(), part=part or "", version=version,
    )  # fmt: skip


@check(PROBLEM)
def not_installed(training: Training, packages: Packages) -> Judgement:
    """`flash_attention_3` and `_4` come from packages that change their names; they are left alone."""
    setting = asked_attention(training)
    if setting is None or flash_version(setting.value) != 2:
        return
    if there := packages.has("flash-attn"):
        return
    if falls_back_to_kernels(packages) or any(each in packages.distributions for each in _OTHER_HARDWARE):
        return
    if there is None:
        yield Skip(packages.why_unknown("flash-attn"))
        return
    kernels = ("pip install kernels",) if packages.matches("transformers", ">=4.56") else ()
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(setting),
        evidence=quoted(setting),
        commands=("pip install flash-attn --no-build-isolation", *kernels, 'attn_implementation="sdpa"'),
        attention=setting.value,
    )
