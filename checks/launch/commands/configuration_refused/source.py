"""Judges LCH6560/source, a row of configuration-refused; its words stand in the TOML of the table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.conditions import UNKNOWN, because, names_in, true, value_of, worded
from doctor.catalogue.shared.stated import Held, held_of
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.data.refusals import Refusal, refusals
from doctor.facts.framework_config import FrameworkConfig
from doctor.facts.launch import Launch
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MAIN = TOML["main"]

#: a library raises at the first; what else it would refuse is told up to here
_MOST = 3


# the framework's own validator, where it can be called, says the same in its own words
@check(PROBLEM, requires=("LCH6560/validator",))
def refused_by_its_source(
    launch: Launch, packages: Packages, training: Training | None, framework_config: FrameworkConfig | None,
    verl_config: VerlConfig | None, world: World | None, model: Model | None,
) -> Judgement:  # fmt: skip
    """Hold the settings against what the releases' sources refuse; what nobody can tell refuses nothing."""
    told: set[str] = set()
    for held in held_of(launch, training, framework_config, verl_config, packages, world, model):
        for refusal, names in _refused(held):
            if not told.isdisjoint(names) or len(told) >= _MOST:
                continue
            told.update(names)
            yield _finding(held, refusal, names)


def _refused(held: Held) -> Iterator[tuple[Refusal, tuple[str, ...]]]:
    """Conditions that hold, with the settings in them that somebody wrote: no library refuses its own defaults."""
    for refusal in refusals(held.library, held.scope, held.version):
        if not any(held.written(name) for name in names_in(refusal.condition)):
            continue
        if true(value_of(refusal.condition, held.look_up)) is not True:
            continue
        parts = tuple(because(refusal.condition, held.look_up))
        if any(_compares_with_nothing(part, held) for part in parts):
            continue
        asked = dict.fromkeys(name for part in parts for name in names_in(part))
        names = tuple(name for name in asked if held.written(name))
        if names:
            yield refusal, names


def _compares_with_nothing(part: Any, held: Held) -> bool:
    """Whether a setting is held against another one that is unset: its value is derived before the check is made.

    https://github.com/NovaSky-AI/SkyRL/blob/skyrl-v0.2.0/skyrl/train/config/config.py (`generator.max_input_length`)
    """
    if not isinstance(part, (list, tuple)) or part[0] not in {"==", "!="}:
        return False
    names = [side[1] for side in part[1:] if isinstance(side, (list, tuple)) and side[:1] in (["n"], ("n",))]
    return len(names) > 1 and any(not held.written(each) and held.look_up(each, True) is None for each in names)


def _finding(held: Held, refusal: Refusal, names: tuple[str, ...]) -> Finding:
    parts = list(because(refusal.condition, held.look_up))
    asked = dict.fromkeys(name for part in parts for name in names_in(part))
    written = [each for name in names for each in held.written(name)[:_MOST]]
    return found(
        PROBLEM, MAIN, confidence=LIKELY, where=place_of(*written),
        evidence=(*quoted(*written), *(_of_default(held, name) for name in asked if name not in names)),
        links=(refusal.link,) if refusal.link else (), program=held.program, version=held.version,
        names=", ".join(f"`{each}`" for each in names), place=refusal.place,
        condition=" and ".join(_plain(part) for part in parts),
    )  # fmt: skip


def _plain(part: Any) -> str:
    text = worded(part)
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def _of_default(held: Held, name: str) -> Observed:
    value = held.look_up(name, True)
    return Observed.quoted("default or launch", f"{worded(['n', name])} = {'?' if value is UNKNOWN else value!r}")
