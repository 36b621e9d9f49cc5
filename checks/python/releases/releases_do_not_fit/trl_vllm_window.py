"""Judges PYT0301/trl_vllm_window, a row of releases-do-not-fit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor import data
from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, Skip, found
from doctor.catalogue.problem import ERROR
from doctor.catalogue.shared.trainers import imports_grpo, installed, is_grpo, vllm_mode
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import SWIFT, SWIFT_MEGATRON, Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]
MESSAGE_ONE = TOML["one"]


def _accepting(vllm: str) -> str | None:
    """Return the newest TRL whose range holds a vLLM."""
    from packaging.version import Version

    try:
        wanted = Version(Version(vllm).base_version)
    except ValueError:
        return None
    for listed in reversed(tuple(data.releases("trl"))):
        release = data.trl_release(listed)
        window = release.vllm_window if release else None
        if window and Version(window[0]) <= wanted <= Version(window[1]):
            return listed
    return None


@check(PROBLEM, requires=("PYT0301/trl_guided_decoding", "PYT0301/trl_send_weights"))
def vllm_outside_window(
    packages: Packages, training: Training | None, launch: Launch | None, script: Script | None
) -> Judgement:
    """Judge the environment, unless the command certainly does without TRL's use of vLLM."""
    version, vllm = installed(packages, "trl"), installed(packages, "vllm")
    if training is not None and training.config_origin in {SWIFT, SWIFT_MEGATRON}:
        training = None  # its own arguments do not say what TRL imports
    if training is not None and (not is_grpo(training) or vllm_mode(training, version) == "off"):
        return
    if training is None and imports_grpo(launch, None, script) is False:
        return
    release = data.trl_release(version)
    if release is None:
        yield Skip(f"the vLLM range of TRL {version} is not in the doctor's data")
        return
    if release.vllm_window is None or packages.matches("vllm", ">={},<={}".format(*release.vllm_window)):
        return
    low, high = release.vllm_window
    other = _accepting(vllm)
    yield found(
        PROBLEM,
        MESSAGE if low != high else MESSAGE_ONE,
        evidence=(Observed.quoted("installed packages", f"trl {version}, vllm {vllm}"),),
        commands=(f'pip install "vllm=={high}"', *((f'pip install "trl=={other}"',) if other else ())),
        vllm=vllm,
        low=low,
        high=high,
        version=version,
    )


def explain(hits: Hits) -> Finding | None:
    """Speak where TRL itself has named the range; else the import alone does not tell which side is old."""
    if hits.get("have") is None:
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, severity=ERROR,
        have=hits.get("have"), low=hits.get("low"), high=hits.get("high"), name=hits.get("name") or "vllm",
        commands=(f'pip install "vllm=={hits.get("high")}"',),
    )  # fmt: skip
