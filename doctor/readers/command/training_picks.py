"""Which trainer of a script trains, and which configuration it is given."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.base.record import distinct, replace
from doctor.facts.script import Call, Link, Script
from doctor.readers.command.training_owners import config_of, is_training_config

_ROOTS = frozenset({"trl", "transformers", "unsloth", "unsloth_zoo"})
#: stacks whose trainers have the names of TRL's and are none of them
_OTHERS = frozenset({"openrlhf", "mcore_adapter", "nemo_rl", "nemo_aligner", "paddlenlp", "mindnlp", "coati", "trlx"})


@distinct
class Picks:
    """The trainer and its configuration: a call (`config`) or a class that the parser fills (`parsed_class`).

    `no_config`: the trainer is given none, so that all defaults hold. `sure` is False when there are several
    possibilities and the source does not say which.
    """

    trainer: Call | None = None
    config: Call | None = None
    parsed_class: str | None = None
    config_link: Link | None = None
    no_config: bool = False
    sure: bool = True


def pick(script: Script) -> Picks:
    """Choose as a reader of the script would: the trainer that trains, the configuration handed to it."""
    trainer, sure = _trainer(script)
    if trainer is None:
        return _lone_config(script)
    link = trainer.links.get("args") or trainer.links.get("config")
    if link is not None and link.parsed_class is not None:
        return Picks(trainer, parsed_class=link.parsed_class, config_link=link, sure=sure and link.sure)
    if link is not None:
        call = script.call_at(link.place)
        if call is not None:
            agreed = call if link.sure else _agreeing(call, script)
            return Picks(trainer, agreed, config_link=link, sure=sure and link.sure)
    if not trainer.arguments.keys() & {"args", "config"} and not trainer.has_star_kwargs:
        return Picks(trainer, no_config=True, sure=sure)
    return replace(_lone_config(script, trainer), trainer=trainer, sure=False)


def is_trainer(call: Call) -> bool:
    """Whether a call makes one of TRL's or Transformers' trainers (also from a fork, by its name)."""
    if not call.base.endswith("Trainer"):
        return False
    root = call.origin.partition(".")[0]
    if root in _OTHERS:
        return False
    if call.base in {"Trainer", "Seq2SeqTrainer"}:
        return root in _ROOTS or call.base != call.name
    return is_training_config(config_of(call.base))


def _trainer(script: Script) -> tuple[Call | None, bool]:
    found = [call for call in script.calls if is_trainer(call)]
    own = [call for call in found if call.place.file == script.path] or found
    if not own:
        return None, False
    trained = [call for call in own if call.trains]
    if len(trained) == 1:
        return trained[0], True
    candidates = trained or own
    return candidates[-1], len(candidates) == 1


def _lone_config(script: Script, trainer: Call | None = None) -> Picks:
    """The only configuration in sight, when the trainer does not lead to one."""
    wanted = config_of(trainer.base) if trainer is not None else None
    found = [
        call
        for call in script.calls
        if is_training_config(call.base) and (wanted is None or call.base in {wanted, "TrainingArguments"})
    ]
    if len(found) == 1:
        return Picks(config=found[0], sure=False)
    parsed = [name for name in script.parses_arguments_into if is_training_config(_base(script, name))]
    if not found and len(parsed) == 1:
        return Picks(parsed_class=parsed[0], sure=False)
    return Picks(sure=False)


def _base(script: Script, name: str) -> str:
    local = script.classes.get(name)
    return local.base if local is not None and local.base is not None else name


def _agreeing(call: Call, script: Script) -> Call:
    """A call with only those arguments on which all the calls that may be meant agree."""
    rivals = [
        each
        for each in script.calls
        if each.base == call.base and each.assigned_to == call.assigned_to and each.place.file == call.place.file
    ]
    kept = {name: each for name, each in call.arguments.items() if all(_same(each, other, name) for other in rivals)}
    return replace(call, arguments=kept)


def _same(setting: Observed, other: Call, name: str) -> bool:
    found = other.arguments.get(name)
    return found is not None and found.known == setting.known and found.value == setting.value
