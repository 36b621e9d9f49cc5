"""Triggers: what a problem's TOML says must be there before launch for the failure to come.

A trigger names versions, conditions over what is said of a run (`doctor.catalogue.shared.said`) and an idiom of the
script's code. Where all hold, the problem is found in its own words; where all that is known holds and something could
not be read, it is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Optional

from doctor.base.evidence import Observed
from doctor.base.opened import is_open
from doctor.base.record import record
from doctor.catalogue.check import Judgement
from doctor.catalogue.finding import LIKELY, Confidence, Finding, Message, Skip, Where, found
from doctor.catalogue.problem import Severity
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.recipes import Recipe, recipe_of
from doctor.catalogue.shared.said import MEANT, Condition, Said, others_of, settings_of
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import LOG, MAIN, ProblemWords
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.dataset import Dataset
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

#: a model below this learns at greater rates than usual ones: the smallest of GPT-3's table has 125 million parameters,
#: and ten times the rate of the largest (https://arxiv.org/abs/2005.14165, table 2.1)
TINY = 100_000_000
#: in `values`: what follows is a key, whose value is said; a key, whose setting's own name is; a hole of the idiom; a
#: distribution, whose release is
_KEY, _NAME, _HOLE, _RELEASE = "=", "@", "$", "=package."
_NOT_READ = "not all arguments could be read without running the script"


@record
class Trigger:
    """One way to bring a problem about.

    Args:
        when: distribution -> PEP 440 range; all are installed.
        conditions: all hold.
        code: idiom of `doctor.data.idioms` that the script holds; "" for none.
        message: name of what is said; "" for the problem's `main`, else its `log`.
        values: brace of the message -> text, "=KEY" for what is said under a key, "@KEY" for the name of the setting
            that says it, "$HOLE" for a hole of the idiom, "=package.NAME" for a release.
        confidence: how sure it is.
        severity: of what is found; "" for the problem's own.

    """

    when: Mapping[str, str] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    code: str = ""
    message: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    confidence: Confidence = LIKELY
    severity: str = ""


@record
class _Seen:
    """What is known of one run, and the pieces that prove it."""

    said: Said
    packages: Packages | None
    idioms: Mapping[str, Observed]

    def proofs(self, trigger: Trigger) -> tuple[Observed, ...]:
        """The settings that a trigger names, as they are written."""
        written = (self.said.setting(key) for key, _, _ in trigger.conditions)
        return tuple(filter(None, written))


def judge(words: ProblemWords, **facts: Any) -> Judgement:
    """Hold the triggers of a problem against a run; the first that holds is told.

    Args:
        words: of the problem.
        facts: those of `doctor.catalogue.index.TRIGGERED`, by its names; None for what is not known.

    """
    if facts["launch"] is None:
        return
    seen = _seen(facts)
    gap = False
    for trigger in triggers_of(words):
        holds = _holds(trigger, seen)
        if holds:
            yield _told(words, trigger, seen)
            return
        gap = gap or holds is None
    if gap:
        yield Skip(_NOT_READ)


#: the facts that were looked at last, and what was made of them: each problem asks the same run
_LAST: list[tuple[Mapping[str, Any], _Seen]] = []


def _seen(facts: Mapping[str, Any]) -> _Seen:
    if any(map(is_open, facts.values())):  # who is asked of it is noted each time
        return _laid_together(facts)
    for known, seen in _LAST:
        if all(known[name] is each for name, each in facts.items()):
            return seen
    seen = _laid_together(facts)
    _LAST[:] = [(facts, seen)]
    return seen


def _laid_together(facts: Mapping[str, Any]) -> _Seen:
    script: Script | None = facts["script"]
    return _Seen(said_of(facts), facts["packages"], script.idioms if script is not None else {})


def said_of(facts: Mapping[str, Any]) -> Said:
    """All that is said of a run, from the facts of `doctor.catalogue.index.TRIGGERED` by name; None: not known."""
    launch: Launch = facts["launch"]
    training: Training | None = facts["training"]
    script: Script | None = facts["script"]
    recipe = recipe_of(launch, training, facts["verl"], facts["framework"])
    others = {
        **_of_recipe(recipe),
        **others_of(facts["world"], training, facts["framework"], facts["model"], script),
        **_of_command(launch, training),
        **_of_facts(facts["model"], facts["dataset"], facts["gpus"], facts["environment"]),
    }
    settings = {
        **settings_of(launch, training, facts["verl"], facts["framework"]),
        **_parts(launch, training, facts["accelerate"], facts["deepspeed"]),
    }
    whole = training is None or training.complete
    return Said(settings, others, whole, recipe.settings if recipe is not None else {})


def _of_recipe(recipe: Recipe | None) -> dict[str, object]:
    if recipe is None:
        return dict.fromkeys(map(MEANT.__add__, ("program", "method", "learns_from", "of_groups", "adapter", "adam")))
    return {
        MEANT + "program": recipe.program, MEANT + "method": recipe.method, MEANT + "learns_from": recipe.learns_from,
        MEANT + "of_groups": recipe.of_groups, MEANT + "adapter": recipe.adapter, MEANT + "adam": recipe.adam,
    }  # fmt: skip


def triggers_of(words: ProblemWords) -> Iterator[Trigger]:
    """The triggers that a problem's TOML declares."""
    for each in words.triggers:
        yield Trigger(
            each.get("when", {}), tuple((key, relation, wanted) for key, relation, wanted in each.get("if", ())),
            each.get("code", ""), each.get("message", ""), each.get("values", {}),
            Confidence(each.get("confidence", LIKELY)), each.get("severity", ""),
        )  # fmt: skip


def _holds(trigger: Trigger, seen: _Seen) -> Optional[bool]:
    """Whether all of a trigger is there; None where what is known of it is, and not all is known."""
    if trigger.code and trigger.code not in seen.idioms:
        return False
    answers: list[Optional[bool]] = [seen.said.holds(*each) for each in trigger.conditions]
    if False in answers:
        return False
    for name, versions in trigger.when.items():
        if seen.packages is None or not seen.packages.matches(name, versions):
            return False
    # a fact that nobody has (a model that is not here) is told by the checks that need it
    unread = [key for (key, _, _), each in zip(trigger.conditions, answers, strict=True) if each is None]
    if any(key in seen.said.others for key in unread):
        return False
    return None if unread else True


def _told(words: ProblemWords, trigger: Trigger, seen: _Seen) -> Finding:
    proofs = seen.proofs(trigger)
    idiom = seen.idioms.get(trigger.code)
    held = (seen.packages,) if seen.packages is not None else ()
    versions = tuple(Observed.quoted(of.told_by, f"{name} {of.version(name)}") for of in held for name in trigger.when)
    values: dict[str, Any] = {name: _filled(text, seen, idiom) for name, text in trigger.values.items()}
    where = place_of(*proofs)
    if where is None and idiom is not None:
        where = Where(file=idiom.source, line=idiom.line)
    return found(
        words.problem, _message(words, trigger), where=where, confidence=trigger.confidence,
        severity=Severity(trigger.severity) if trigger.severity else None,
        evidence=(*quoted(*proofs), *((idiom,) if idiom is not None else ()), *versions),
        commands=tuple(each for each in words.commands if "{" not in each), links=words.links, **values,
    )  # fmt: skip


def _message(words: ProblemWords, trigger: Trigger) -> Message:
    name = trigger.message or (MAIN if MAIN in words.messages else LOG)
    return words[name]


def _filled(text: str, seen: _Seen, idiom: Observed | None) -> str:
    if text.startswith(_HOLE) and idiom is not None:
        return str(idiom.value.get(text[1:], ""))
    if text.startswith(_NAME):
        named = seen.said.setting(text[1:])
        return named.name if named is not None else ""
    if not text.startswith(_KEY):
        return text
    if text.startswith(_RELEASE) and seen.packages is not None:
        return seen.packages.version(text.removeprefix(_RELEASE)) or ""
    said = seen.said
    setting = said.setting(text[1:])
    return str(setting.value if setting is not None and setting.known else said.others.get(text[1:], ""))


def _parts(
    launch: Launch, training: Training | None, accelerate: AccelerateConfig | None, deepspeed: DeepspeedConfig | None
) -> dict[str, Observed]:
    """Options of the launcher, its files, keywords of the trainer's call and of the model's, each below its part."""
    parts = {"option": launch.options}
    if accelerate is not None:
        parts["accelerate"] = accelerate.settings
    if deepspeed is not None:
        parts["deepspeed"] = deepspeed.settings
    if training is not None:
        parts |= {"trainer": training.trainer_arguments, "load": training.model_arguments}
    said = {f"{part}.{name}": each for part, settings in parts.items() for name, each in settings.items()}
    return {**(training.nested if training is not None else {}), **said}


def _of_command(launch: Launch, training: Training | None) -> dict[str, object]:
    return {
        "launch": launch.kind, "subcommand": launch.subcommand, "command": " ".join(launch.argv),
        "trainer": training.trainer if training is not None else None,
        "trainer_origin": training.trainer_origin or None if training is not None else None,
        "trains_with": training.config_class if training is not None else None,
        "trains_with_origin": training.config_origin or None if training is not None else None,
    }  # fmt: skip


def _of_facts(
    model: Model | None, dataset: Dataset | None, gpus: Gpus | None, environment: Environment | None
) -> dict[str, object]:
    """Of the model, the rows as they lie on the disk, cards and variables."""
    columns = dataset.columns if dataset is not None and not dataset.processed and dataset.columns else None
    known: dict[str, object] = {
        "model.type": model.model_type if model is not None else None,
        "model.own_code": model.own_code if model is not None else None,
        "model.quantization": model.quantization if model is not None else None,
        "model.tiny": model is not None and model.parameters is not None and model.parameters < TINY,
        "dataset.columns": columns, "dataset.prompt": dataset.prompt_kind if dataset is not None else None,
        "gpus.count": len(gpus.gpus) if gpus is not None else None,
    }  # fmt: skip
    variables = environment.variables if environment is not None else {}
    return {**known, **{f"env.{name}": value for name, value in variables.items()}}
