"""Judges TRL2205/sglang_server, a row of argument-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor import data
from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.words import words_of
from doctor.checks.trl.arguments.argument_of_another_release.vllm_server import accepted, nearest
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
REMOVED = TOML["removed"]
NOT_YET = TOML["not_yet"]
NEAR = TOML["near"]
UNHEARD = TOML["unheard"]


def _near(setting: Observed, flag: str, near: str, version: str) -> Finding:
    dashed = near.replace("_", "-")
    return found(
        PROBLEM, NEAR, confidence=LIKELY, flag=flag, version=version, near=dashed, where=place_of(setting),
        evidence=(proof(setting),), commands=(f"--{dashed}",),
    )  # fmt: skip


@check(PROBLEM)
def argument_unknown_to_sglang(launch: Launch, packages: Packages) -> Judgement:
    """Judge `python -m sglang.launch_server`, whose parser takes the beginning of an option for it."""
    version = packages.version("sglang") or "?"
    if launch.module != "sglang.launch_server" or not launch.arguments:
        return
    flags = data.sglang_flags(version)
    if flags is None:
        yield Skip(f"the options of SGLang {version} are not in the doctor's data")
        return
    underscored = {word[2:].partition("=")[0] for word in launch.script_args if word.startswith("--") and "_" in word}
    for setting in launch.arguments.values():
        name = setting.name.replace("-", "_")
        as_typed = name if name in underscored else name.replace("_", "-")
        if accepted(name, flags) and as_typed == name.replace("_", "-"):
            continue
        if name in flags:  # its parser takes dashes alone
            yield _near(setting, as_typed, name, version)
            continue
        history, near = data.sglang_flag(name), nearest(name, flags)
        gone = history.removed_in if history is not None else None
        if history is None and near is not None:
            yield _near(setting, as_typed, near, version)
            continue
        yield found(
            PROBLEM, REMOVED if gone else NOT_YET if history is not None else UNHEARD, confidence=LIKELY,
            flag=name.replace("_", "-"), version=version, gone=gone, last=history.last if history else None,
            first=history.first if history else None, where=place_of(setting), evidence=(proof(setting),),
        )  # fmt: skip
