"""Facts of pasted code and configuration, as `doctor check` has them of files; each open: what is not said is unknown.

A script is read by the reader of scripts, from its syntax tree alone, and no file beside it is looked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from doctor import data
from doctor.base.evidence import Observed, Origin, Place
from doctor.base.opened import opened, partly
from doctor.base.record import mutable, replace
from doctor.base.redact import hide
from doctor.facts.script import Call, Script
from doctor.facts.training import Training
from doctor.logs.lines.life import versions_in
from doctor.logs.told.context import listed_versions
from doctor.logs.told.lines import commands, of_version
from doctor.logs.told.pieces import Lines, Pieces, pieces_in
from doctor.logs.told.said import Said, flattened, value_of
from doctor.readers.command.training_owners import MODEL_KEYWORDS

#: of a script: what is known with all that it holds where a part of it was pasted
_OF_SCRIPT = ("path", "broken")
#: of a training: nothing was set that these could hold, but by the code that is there
_OF_TRAINING = ("set_later", "shared", "config_origin", "trainer_origin", "broken", "data_absent", "rows")
#: what a script may name, and where it does not, another part of it may
_NAMED = ("trainer", "trainer_place", "config_class", "config_place", "model", "dataset", "reward_functions")


@mutable
class Pasted:
    """What pasted pieces tell.

    Args:
        said: settings and commands.
        observed: facts.
        taken: numbers of the lines that were read so.

    """

    said: list[Said] = field(default_factory=list)
    observed: list[Observed] = field(default_factory=list)
    taken: set[int] = field(default_factory=set)


def model_settings(config: Mapping[str, str], file: str) -> Iterator[Observed]:
    """How the model is loaded, where a context says so beside a script: `attn_implementation=sdpa`."""
    settings = {
        name: Observed.written(name, value_of(config[name]), text=config[name], place=Place(file))
        for name in sorted(MODEL_KEYWORDS.intersection(config))
    }
    if settings:
        elsewhere = {f"nested.model_init_kwargs.{each}" for each in settings}  # said once, and so nowhere else
        told = opened(Training(model_arguments=settings), seen=elsewhere)
        yield Observed("training", told, Origin("pasted", file))


def pasted_in(lines: Lines, file: str) -> Pasted:
    """All that the pieces of a text tell.

    Args:
        lines: of the text, numbered from 1.
        file: its name, for places.

    """
    pieces = pieces_in(lines)
    texts = dict(lines)
    found = Pasted(taken=pieces.taken)
    if pieces.python:
        found.observed += _of_python(pieces.python, file)
    found.said += _settings(pieces, texts, file)
    for number, text in pieces.commands:
        found.said += (each._replace(exact=False, file=file) for each in commands(text, number))
    for first, text in pieces.accelerate:
        found.observed += _of_accelerate(text, first, file)
    for number, text in lines if pieces.taken else ():
        stated = {**listed_versions(text), **versions_in(text)}.items()
        found.said += (of_version(*each, number, text)._replace(exact=False, file=file) for each in stated)
    return found


def _settings(pieces: Pieces, texts: dict[int, str], file: str) -> Iterator[Said]:
    if len({repr(settings) for _, settings in pieces.deepspeed}) == 1:
        first, settings = pieces.deepspeed[0]
        for name, value in flattened(settings):
            number = _line_of(name.rpartition(".")[2], texts, first)
            shown = hide(name, value) if isinstance(value, str) else value
            yield Said("deepspeed", name, shown, number, texts[number], exact=False, file=file)
    for number, name, text in pieces.verl:
        known = value_of(text)
        shown = hide(name, known) if isinstance(known, str) else known
        yield Said("verl", name, shown, number, texts[number], exact=False, file=file)


def _line_of(name: str, texts: dict[int, str], first: int) -> int:
    return next((number for number, text in texts.items() if number >= first and name in text), first)


def _of_accelerate(text: str, first: int, file: str) -> Iterator[Observed]:
    from doctor.facts.accelerate_config import AccelerateConfig
    from doctor.readers.files.yaml_positions import parse_yaml

    located = parse_yaml("\n" * (first - 1) + text, file)
    if located.broken is None and located.settings:
        told = opened(AccelerateConfig(file, located.settings), seen=("path", "is_default", "broken"))
        yield Observed("accelerate_config", told, Origin("pasted", file, first))


# --- a script ---


def _of_python(text: str, file: str) -> Iterator[Observed]:
    """The script, and the training that it starts where it names each of its parts once."""
    from doctor.logs.told.launched import NOWHERE
    from doctor.readers.script.script import read_script

    script = read_script(file or "the pasted text", text.encode(), folder=str(NOWHERE))
    if script.broken is not None or not (script.calls or script.idioms or script.lone_calls):
        return
    rows = text.splitlines()
    first = script.calls[0].place.line if script.calls else min(_lines(script))
    calls = [_opened_call(each, rows, file) for each in _unambiguous(script.calls)]
    told = replace(script, calls=partly(calls, "script", "calls"))
    seen = {
        name
        for name in ("imports", "parses_arguments_into", "reward_functions", "parser", "idioms", "lone_calls")
        if getattr(script, name)
    }
    line = _quote(rows, first or 1, file)
    whole = opened(told, seen={*_OF_SCRIPT, "calls", *seen}, teller=line)
    yield Observed("script", whole, Origin("pasted", file, first or 1))
    if len(calls) == len(script.calls):
        yield from _training(script, rows, file)


def _lines(script: Script) -> list[int]:
    """Lines of what else is told of a script that calls nothing of the stack."""
    idioms = (each.origin.line for each in script.idioms.values())
    return [each or 1 for each in (*idioms, *(one.place.line for one in script.lone_calls))]


def _unambiguous(calls: Iterable[Call]) -> list[Call]:
    """Calls of classes that are called once: of two versions of a configuration it is not known which one ran."""
    calls = list(calls)
    configures = [each for each in calls if each.base.endswith(("Config", "Trainer", "TrainingArguments"))]
    names = [each.base for each in configures]
    return [each for each in calls if each not in configures or names.count(each.base) == 1]


def _quote(rows: Sequence[str], number: int, file: str) -> Observed:
    return Observed("", None, Origin("pasted", file, number), exact=False, text=rows[number - 1].strip())


def _opened_call(call: Call, rows: Sequence[str], file: str) -> Call:
    """The call: what it is given is known, and where it was pasted in part, nothing of the rest."""
    tellers = {"": _quote(rows, call.place.line or 1, file)}
    for name, each in call.arguments.items():
        if each.place is not None and each.place.line:
            tellers[f"arguments.{name}"] = replace(_quote(rows, each.place.line, file), name=name)
    seen = {"name", "place", "origin", "assigned_to", "base", "trains", "conditional", "set_later", "resumes"}
    return opened(call, seen=seen, teller=tellers)


def _has_moved(training: Training) -> bool:
    """Whether a class is one of TRL's experimental ones, of whose arguments the data hold no history."""
    if training.config_origin.startswith("trl.experimental") or training.trainer_origin.startswith("trl.experimental"):
        return True
    known, newest = data.trl_class(training.config_class or ""), data.newest("trl")
    return known is not None and newest is not None and known.exists_in(newest) is False


def _training(script: Script, rows: Sequence[str], file: str) -> Iterator[Observed]:
    from doctor.base.fact import DoesNotApply, Unavailable
    from doctor.logs.told.launched import NOWHERE
    from doctor.readers.command.launchers import understand
    from doctor.readers.command.training_command import of_script

    launch = understand(("python", "train.py"), str(NOWHERE))
    try:
        training = of_script(launch, script, str(NOWHERE))
    except (DoesNotApply, Unavailable):
        return
    if training.config_class is None and training.trainer is None:
        return
    if _has_moved(training):
        return
    place = training.config_place or training.trainer_place or Place(file, 1)
    tellers = {"": _quote(rows, place.line or 1, file)}
    for prefix, settings in (("arguments", training.arguments), ("trainer_arguments", training.trainer_arguments),
                             ("lora", training.lora or {}), ("model_arguments", training.model_arguments)):  # fmt: skip
        for name, each in settings.items():
            if each.place is not None and each.place.line:
                tellers[f"{prefix}.{name}"] = replace(_quote(rows, each.place.line, file), name=name)
    if (
        training.config_class
        and data.trl_class(training.config_class) is not None
        and "." not in training.config_origin
    ):
        training = replace(training, config_origin=f"trl.{training.config_class}")  # the import was left out
    named: dict[str, Any] = {name: getattr(training, name) for name in _NAMED}
    seen = {*_OF_TRAINING, *(name for name, value in named.items() if value)}
    yield Observed("training", opened(training, seen=seen, teller=tellers), Origin("pasted", file, place.line))
