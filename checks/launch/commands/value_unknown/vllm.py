"""Judges LCH0284/vllm, a row of value-unknown; its words stand in the TOML of the table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import get_close_matches

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, Skip, found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.choices import Choices
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
JSON = TOML["json"]
NO_PARSER = TOML["no_parser"]
LOG_MESSAGE = TOML["log"]


KINDS = {"vllm-serve", "vllm-openai-server"}
#: option -> names of the list that decides, newest first
LISTS = {
    "max_lora_rank": ("vllm.MaxLoRARanks", "vllm.possible_max_ranks"),
    "dtype": ("vllm.ModelDType",),
    "tool_call_parser": ("vllm.tool_call_parser",),
    "reasoning_parser": ("vllm.reasoning_parser",),
}
#: options whose list a plugin may add to, named on the command line or installed
WITH_PLUGINS = {"tool_call_parser", "reasoning_parser"}
#: options that are JSON in every release that has them
IN_JSON = ("speculative_config", "override_generation_config", "hf_overrides", "kv_transfer_config")
MOST = 8


def shown(value: str, known: tuple[str, ...]) -> str:
    """The values that look most like one, else the first, for a sentence."""
    if value.isdigit() and all(each.isdigit() for each in known):
        near = sorted(sorted(known, key=lambda each: abs(int(each) - int(value)))[:2], key=int)
    else:
        near = get_close_matches(value, known, 3, 0.5) or list(known[:MOST])
    return ", ".join(f"`{each}`" for each in near)


@check(PROBLEM)
def option_value_refused(serving: Serving, packages: Packages, choices: Choices | None) -> Judgement:
    """Judge options with a list, then those in JSON; a plugin may bring values of its own."""
    if serving.kind not in KINDS:
        return
    yield from _without_parser(serving, choices)
    for option, lists in LISTS.items():
        setting = serving.arguments.get(option)
        if setting is None or not setting.known or "$" in str(setting.value) or not _judged(serving, option):
            continue
        known = choices.of(*lists) if choices is not None else ()
        if not known or (option in WITH_PLUGINS and any(name.startswith("vllm-") for name in packages.distributions)):
            yield Skip(f"the values of `--{option.replace('_', '-')}` that the installed vLLM takes are not known")
        elif str(setting.value) not in known:
            yield _refused(setting, option, known, packages.version("vllm") or "")
    for option in IN_JSON:
        setting = serving.arguments.get(option)
        if setting is not None and setting.known and setting.place is None and not _is_json(setting.value):
            yield found(
                PROBLEM, JSON, where=place_of(setting), evidence=(proof(setting),), option=option.replace("_", "-")
            )


def _judged(serving: Serving, option: str) -> bool:
    """A parser is looked up only where nothing adds one; that of tools only where tools are switched on."""
    if option in WITH_PLUGINS and any(name.endswith("parser_plugin") for name in serving.arguments):
        return False
    return option != "tool_call_parser" or _is_on(serving, "enable_auto_tool_choice")


def _is_on(serving: Serving, name: str) -> bool:
    setting = serving.arguments.get(name)
    return setting is not None and setting.known and truth(setting.value) is True


def _without_parser(serving: Serving, choices: Choices | None) -> Iterator[Finding]:
    setting = serving.arguments.get("enable_auto_tool_choice")
    if setting is None or not _is_on(serving, "enable_auto_tool_choice") or "tool_call_parser" in serving.arguments:
        return
    known = choices.of("vllm.tool_call_parser") if choices is not None else ()
    usual = [each for each in ("hermes", "llama3_json", "mistral", "qwen3_coder") if not known or each in known]
    yield found(
        PROBLEM, NO_PARSER, where=place_of(setting), evidence=(proof(setting),),
        commands=("--enable-auto-tool-choice --tool-call-parser hermes",),
        known=", ".join(f"`{each}`" for each in usual),
    )  # fmt: skip


def _refused(setting: Observed, option: str, known: tuple[str, ...], version: str) -> Finding:
    return found(
        PROBLEM, MESSAGE, where=place_of(setting), evidence=(proof(setting),), option=option.replace("_", "-"),
        value=setting.value, version=version, known=shown(str(setting.value), known),
    )  # fmt: skip


def _is_json(value: object) -> bool:
    """Whether vLLM can read it; its own extension (`1k` for a number) is never the only thing without a quote."""
    if not isinstance(value, str) or not value.lstrip().startswith("{") or '"' in value or "$" in value:
        return True
    try:
        json.loads(value)
    except ValueError:
        return False
    return True


def explain(hits: Hits) -> Finding:
    """The name that is not there, or that none was given."""
    where, evidence = hits.where(), hits.evidence()
    if hits.of(0):
        return found(
            PROBLEM, LOG_MESSAGE, where=where, evidence=evidence,
            kind=TOML.phrases("kind")[hits.get("kind") or "reasoning"], value=hits.get("value"),
        )  # fmt: skip
    return found(PROBLEM, NO_PARSER, where=where, evidence=evidence, known="`hermes`, `llama3_json`, `mistral`")
