"""Judges LCH6560/script, a row of configuration-refused; its words stand in the TOML of the table."""

from __future__ import annotations

import json

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.settings import at
from doctor.catalogue.shared.conditions import because, names_in, true, value_of, worded
from doctor.catalogue.shared.stated import Held, of_own_program
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.script import Script
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem


@check(PROBLEM)
def refused_by_the_script(script: Script, launch: Launch, world: World | None) -> Judgement:
    """Only where arguments of the command decide; what the script does with its defaults is its own."""
    if launch.unclear or not script.own_refusals:
        return
    held = of_own_program(script, launch, world)
    for refusal in script.own_refusals:
        condition = json.loads(refusal.condition)
        asked = set(names_in(condition)) - {"world.processes"}
        if not asked <= script.flags.keys() or true(value_of(condition, held.look_up)) is not True:
            continue
        parts = list(because(condition, held.look_up))
        names = list(dict.fromkeys(name for part in parts for name in names_in(part)))
        written = [name for name in names if held.written(name)]
        if not written:
            continue
        yield found(
            PROBLEM, TOML["main"], confidence=LIKELY, where=at(refusal.place),
            evidence=(*quoted(*(held.settings[name] for name in written)), *_others(held, names)),
            condition=" and ".join(map(worded, parts)), names=_arguments(script, written),
        )  # fmt: skip
        return  # it ends there


def _arguments(script: Script, written: list[str]) -> str:
    """The arguments as one writes them."""
    return ", ".join(f"`{(script.flags[name].names or (name,))[-1]}`" for name in written)


def _others(held: Held, names: list[str]) -> list[Observed]:
    """What else decides: defaults of the parser, and the number of processes."""
    others = [name for name in names if not held.written(name)]
    return [
        Observed.quoted("default or launch", f"{worded(['n', name])} = {held.look_up(name, True)!r}") for name in others
    ]
