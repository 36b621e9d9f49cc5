"""Judges TRL2205/frameworks, whose words stand in the TOML of the table."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from doctor import data
from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Skip, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.argument_history import came_later, left_before
from doctor.catalogue.shared.trainers import installed, listing, quoted
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.framework_config import DISTRIBUTIONS, FrameworkConfig
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MISSPELT, NOT_YET, GONE = TOML["misspelt"], TOML["not_yet"], TOML["gone"]
UNTRAINED = TOML["untrained"]

#: frameworks that refuse a key which they do not know: HfArgumentParser, argparse, a structured OmegaConf; the others
#: pass over it, or hand it on
REFUSE = frozenset({"llamafactory", "openrlhf", "oumi", "areal", "ms-swift"})
#: frameworks whose parser takes what Transformers' arguments of a training are, too
OF_TRAINER = frozenset({"llamafactory", "ms-swift"})
#: what has ms-swift pass over options that it does not know
#: (https://github.com/modelscope/ms-swift/blob/v4.5.2/swift/pipelines/base.py, `_parse_args`)
_PASSED_OVER = "ignore_args_error"
#: below such keys stands what another program reads
FREE = ("kwargs", "env", "env_vars", "overrides", "columns", "metadata", "extra", "deepspeed", "hf_overrides")
#: beginnings of options that a framework hands on, all of a server's
#: (https://github.com/THUDM/slime/blob/624b824a898ab0ec1fcb4d373004c7f3852bf515/slime/backends/sglang_utils/arguments.py)
HANDED_ON = {"slime": ("sglang_", "router_")}
#: frameworks that give the whole command to the parser of another program, too: an option that they no longer declare
#: is still that program's, as Megatron's optimizer is
#: (https://github.com/THUDM/slime/blob/624b824a898ab0ec1fcb4d373004c7f3852bf515/slime/backends/megatron_utils/arguments.py)
OF_ANOTHER_PARSER = frozenset({"slime"})
#: arguments of TrainingArguments' child for sequences, which LLaMA-Factory takes too
_OF_SEQUENCES = frozenset({
    "sortish_sampler", "predict_with_generate", "generation_max_length", "generation_num_beams", "generation_config",
})  # fmt: skip
_SHORTEST, _NEAR = 6, 0.9
#: keys that one finding names
MOST_QUOTED = 5
_PARSERS = ("USE_MCA", "USE_V1")  # Megatron's arguments through mcore_adapter; those of its second version
_OTHER_PARSER = "variables have LLaMA-Factory take the arguments of another parser"
#: what LLaMA-Factory parses without the arguments of a training
#: (https://github.com/hiyouga/LLaMA-Factory/blob/v0.9.3/src/llamafactory/hparams/parser.py, `get_infer_args`)
_UNTRAINED = ("chat", "webchat", "api", "export", "eval")


@check(PROBLEM)
def key_of_framework(
    framework_config: FrameworkConfig, packages: Packages | None, environment: Environment | None
) -> Judgement:
    """The names of keys alone are known, not where each may stand: a name is told only where one is nearly it."""
    known = data.framework_keys(framework_config.framework)
    if known is None:
        return
    if framework_config.framework == "llamafactory" and _has_another_parser(environment):
        yield Skip(_OTHER_PARSER)
        return
    if _PASSED_OVER in framework_config.settings:
        return
    version = _installed(framework_config.framework, packages)
    severity = ERROR if framework_config.framework in REFUSE else WARNING
    lacking: dict[tuple[str, str], list[tuple[Observed, str]]] = {}
    for setting, name in _names(framework_config):
        if name in known.keys:
            if version and (why := _lacks(framework_config.framework, known, name, version)):
                lacking.setdefault(why, []).append((setting, name))
            continue
        alike = _near(name, known)
        if alike and not name.startswith(HANDED_ON.get(framework_config.framework, ())):
            yield found(
                PROBLEM, MISSPELT, severity=severity, confidence=LIKELY, where=place_of(setting),
                evidence=quoted(setting), name=name, near=alike, framework=framework_config.framework,
                links=(known.source,), commands=(f"{alike}: {setting.text or setting.value}",),
            )  # fmt: skip
    for (lack, release), keys in lacking.items():
        settings, names = zip(*keys, strict=True)
        yield found(
            PROBLEM, NOT_YET if lack == "not yet" else GONE, severity=severity, confidence=LIKELY,
            where=place_of(settings[0]), evidence=quoted(*settings[:MOST_QUOTED]), version=version,
            framework=framework_config.framework, links=(known.source,), first=release, last=release,
            names=listing(names[:MOST_QUOTED]), more=max(0, len(names) - MOST_QUOTED),
        )  # fmt: skip


def _lacks(framework: str, known: data.FrameworkKeys, name: str, version: str) -> tuple[str, str] | None:
    """Whether the installed release has a key "not yet" or no longer, and which release has it; "" for the source."""
    lack = known.lacks(name, version)
    # what it declares itself in other releases, it takes in these as an argument of the trainer
    if lack is None or (framework in OF_TRAINER and _is_trainers(name)):
        return None
    if framework == "ms-swift" and _is_beginning(name, known, version):
        return None
    first, last = known.keys[name]
    if lack == "not yet":
        return lack, known.releases[first] if first < len(known.releases) else ""
    if framework in OF_ANOTHER_PARSER:
        return None
    return lack, known.releases[last] if last is not None and last < len(known.releases) else ""


def _is_beginning(name: str, known: data.FrameworkKeys, version: str) -> bool:
    """Whether argparse may take a name for a longer one that the release has."""
    longer = (each for each in known.keys if each.startswith(name) and each != name)
    return any(known.lacks(each, version) is None for each in longer)


@check(PROBLEM)
def argument_of_the_trainer(
    framework_config: FrameworkConfig,
    launch: Launch | None,
    packages: Packages | None,
    environment: Environment | None,
) -> Judgement:
    """LLaMA-Factory takes what the installed Transformers takes, and that only where it trains."""
    known = data.framework_keys(framework_config.framework)
    if framework_config.framework != "llamafactory" or known is None or _has_another_parser(environment):
        return
    theirs = [each for each in _names(framework_config) if each[1] not in known.keys and _is_trainers(each[1])]
    command = next((each for each in launch.argv if each in _UNTRAINED), None) if launch is not None else None
    if command is not None and theirs:
        settings, names = zip(*theirs, strict=True)
        yield found(
            PROBLEM, UNTRAINED, severity=ERROR, confidence=LIKELY, where=place_of(settings[0]),
            evidence=quoted(*settings[:3]), command=command, names=listing(names[:4]), links=(known.source,),
        )  # fmt: skip
        return
    if packages is None:
        return
    version = installed(packages, "transformers")
    for setting, name in theirs:
        history = data.training_argument(name)
        if history is None or not (came_later(history, version) or left_before(history, version)):
            continue
        yield found(
            PROBLEM, NOT_YET if came_later(history, version) else GONE, severity=ERROR, confidence=LIKELY,
            where=place_of(setting), evidence=quoted(setting), names=listing((name,)), more=0,
            version=version, framework="transformers", first=history.first, last=history.last or "",
            links=(known.source,),
        )  # fmt: skip


def _has_another_parser(environment: Environment | None) -> bool:
    return environment is not None and any(map(environment.flag, _PARSERS))


def _is_trainers(name: str) -> bool:
    return name in _OF_SEQUENCES or data.training_argument(name) is not None


def _installed(framework: str, packages: Packages | None) -> str | None:
    """The release that is installed; a checkout states the last one, and has what came since."""
    carried = tuple(each for each in DISTRIBUTIONS[framework] if each != "skyrl")  # its releases are numbered anew
    installed_as = [packages.distributions.get(each) for each in carried] if packages is not None else []
    return next((each.version for each in installed_as if each and each.version and not each.editable), None)


def _names(config: FrameworkConfig) -> Iterator[tuple[Observed, str]]:
    """The last part of every key that does not stand below a free one, once."""
    seen: set[str] = set()
    for key, setting in config.settings.items():
        *above, name = (each for each in key.split(".") if not each.isdecimal())
        if name in seen or any(each.endswith(FREE) for each in above):
            continue
        seen.add(name)
        yield setting, name


def _near(name: str, known: data.FrameworkKeys) -> str | None:
    if len(name) < _SHORTEST or name in _OF_SEQUENCES or data.training_argument(name) is not None:
        return None
    near = get_close_matches(name, known.keys, 3, _NEAR)
    # a name with a part more, or a plural, is more often another key than a slip
    return next((each for each in near if each not in name and name not in each), None)
