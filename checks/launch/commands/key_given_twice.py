"""Judges key-given-twice (LCH2170), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Iterable

from doctor.base.evidence import Observed, Place
from doctor.base.fact import RepeatedKey
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import at
from doctor.catalogue.words import words_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.script import Script
from doctor.facts.serving import Serving
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
#: a value of more letters than this is a text, which a headline has no room for
_SHORT = 40


@check(PROBLEM)
def key_given_twice(
    script: Script | None,
    accelerate: AccelerateConfig | None,
    training: Training | None,
    serving: Serving | None,
    deepspeed: DeepspeedConfig | None,
) -> Judgement:
    """Keys of files whose reader takes the last one, and of DeepSpeed's, which it refuses where it opens it itself."""
    yield from _told([each.repeated_keys for each in (script, accelerate, training, serving) if each is not None])
    if deepspeed is not None:
        yield from _told([deepspeed.repeated_keys], refused=True)


def _told(files: Iterable[Iterable[RepeatedKey]], *, refused: bool = False) -> Judgement:
    seen: set[Place | None] = set()  # each place once: two facts may come from one file
    for pair in (each for file in files for each in file):
        first, last = pair.first, pair.last
        if last.place in seen:
            continue
        seen.add(last.place)
        values = (_value(first), _value(last))
        yield found(
            PROBLEM, TOML["refused" if refused else "main"], where=at(last.place), evidence=(first, last),
            key=last.name, earlier=first.line, line=last.line,
            first=values[0] if all(values) else None, last=values[1] if all(values) else None,
        )  # fmt: skip


def _value(setting: Observed) -> str | None:
    """What is written, where it is short enough to be quoted."""
    return setting.text if setting.known and 0 < len(setting.text) <= _SHORT and "\n" not in setting.text else None
