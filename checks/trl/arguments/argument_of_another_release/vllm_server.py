"""Judges TRL2205/vllm_server, a row of argument-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor import data
from doctor.base.patterns import later
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_COMMANDS = TOML.commands
JOINED = TOML["joined"]
REMOVED = TOML["removed"]
NOT_YET = TOML["not_yet"]
NEAR = TOML["near"]
UNHEARD = TOML["unheard"]


#: options with a value that every release of the server has
_ALWAYS = later(
    r"--(?:host|port|dtype|max-model-len|tensor-parallel-size|gpu-memory-utilization|served-model-name|tokenizer|seed"
    r"|max-num-seqs|api-key|chat-template|download-dir|pipeline-parallel-size|quantization|load-format) \S"
)


KINDS = {"vllm-serve", "vllm-openai-server"}
#: read by the doctor's own parser, or by argparse itself
OURS = {"model", "model_tag", "config", "help", "version", "optimization_level", "api_key"}
ALIKE = 0.8


def accepted(name: str, flags: frozenset[str]) -> bool:
    """Whether the parser takes a name: as it is, negated, or as the beginning of a longer one."""
    bare = name.removeprefix("no_")
    return name in OURS or bare in flags or any(each.startswith(bare) for each in flags)


def nearest(name: str, flags: frozenset[str]) -> str | None:
    """The option that looks most like a name and does not say the opposite."""
    import difflib

    verbs = ("enable", "disable", "no")
    sign = name.split("_", maxsplit=1)[0] if name.split("_", maxsplit=1)[0] in verbs else ""
    same = [each for each in flags if (each.split("_")[0] if each.split("_")[0] in verbs else "") == sign]
    return next(iter(difflib.get_close_matches(name, same, 1, ALIKE)), None)


@check(PROBLEM)
def argument_unknown(serving: Serving, packages: Packages) -> Judgement:
    """A plugin of vLLM may bring options of its own, so with one only removed options are told."""
    version = packages.version("vllm") or "?"
    if serving.kind not in KINDS or not serving.arguments:
        return
    flags = data.vllm_flags(version)
    if flags is None:
        yield Skip(f"the options of vLLM {version} are not in the doctor's data")
        return
    plugins = any(name.startswith("vllm-") for name in packages.distributions)
    for setting in serving.arguments.values():
        name = setting.name.split(".")[0].replace("-", "_")
        if accepted(name, flags):
            continue
        history, near = data.vllm_flag(name.removeprefix("no_")), nearest(name, flags)
        if history is None and plugins:
            continue
        message = NEAR if near else UNHEARD
        if history is not None and _later(history.first, version):
            message = NOT_YET
        elif history is not None and history.removed_in:
            message = REMOVED
        yield found(
            PROBLEM,
            message,
            flag=name.replace("_", "-"),
            version=version,
            gone=history.removed_in if history else None,
            last=history.last if history else None,
            first=history.first if history else None,
            near=near.replace("_", "-") if near else None,
            where=place_of(setting),
            commands=(f"--{near.replace('_', '-')}",) if near and message is NEAR else (),
            evidence=(proof(setting),),
        )


def _later(first: str, version: str) -> bool:
    from packaging.version import Version

    return Version(first) > Version(version)


def explain(hits: Hits) -> Finding:
    """An option that every release has is not unknown: it came as one word with its value."""
    arguments = hits.get("arguments") or ""
    joined = _ALWAYS.match(arguments) is not None
    return found(
        PROBLEM,
        JOINED if joined else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if joined else CONFIRMED,
        commands=() if joined else LOG_COMMANDS,
        arguments=arguments,
    )
