"""What is said of a run, by key: settings, world, model, data, variables and code, for conditions that are data.

A condition is a key, a relation and a value. Keys: a setting of the command, its files or its script by its name;
`world.*`, `model.*`, `dataset.*` and `gpus.*` of these facts, `trainer`, `trains_with` its configuration's class,
`trainer_origin` and `trains_with_origin` their full names, `trainer.NAME` a keyword of its call, `load.NAME` one of the
model's, `lora.NAME`, `option.NAME` of the launcher, `accelerate.KEY` and `deepspeed.KEY` of their files, `env.NAME` a
variable, `launch`, `subcommand`, `command` as it is typed, `framework`, `script.imports`. `meant.MEANING` is the
setting that means this in whatever framework trains (`doctor.catalogue.shared.dialects`); `meant.program`,
`meant.method`, `meant.learns_from`, `meant.of_groups`, `meant.adapter` and `meant.adam` tell of the run itself.

Relations: `=`, `!=` (also where nobody said it), `>`, `<`, `~` (a pattern), `in` (one of a list), `has` (a list holds
it), `set` (somebody said it, and not None), `unset` (nobody did). A value may itself be a key of `world.`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Optional

from doctor.base.evidence import Observed
from doctor.base.record import record
from doctor.catalogue.settings import number, truth
from doctor.facts.framework_config import FrameworkConfig
from doctor.facts.launch import Launch
from doctor.facts.model import Model
from doctor.facts.script import Script
from doctor.facts.training import Training
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

Condition = tuple[str, str, Any]
RELATIONS = frozenset({"=", "!=", ">", "<", "~", "in", "has", "set", "unset"})
#: relations of which a value of None says that nobody set anything, and those that hold then
_OF_PRESENCE, _ABSENT = frozenset({"set", "unset"}), frozenset({"unset", "!="})
#: before a meaning
MEANT = "meant."
#: what stands on the command line, in variables and in files of keys is read whole, whatever a script computes
_READ_WHOLE = ("option.", "env.", "accelerate.", "deepspeed.")


@record
class Said:
    """All that is said of a run.

    Args:
        settings: by name, in full or, where a name has no dot, by its last part.
        others: what else is known, by key; None: not known.
        whole: whether an absence among the settings proves that nobody said it.
        meant: settings by what they mean.

    """

    settings: Mapping[str, Observed]
    others: Mapping[str, object] = field(default_factory=dict)
    whole: bool = True
    meant: Mapping[str, Observed] = field(default_factory=dict)

    def setting(self, key: str) -> Observed | None:
        """The setting of a key."""
        if key.startswith(MEANT):
            return self.meant.get(key.removeprefix(MEANT))
        if key in self.settings:
            return self.settings[key]
        ends = (each for name, each in self.settings.items() if name.rpartition(".")[2] == key)
        return None if "." in key else next(ends, None)

    def holds(self, key: str, relation: str, wanted: object) -> Optional[bool]:
        """Whether a condition holds; None where that is not known."""
        if isinstance(wanted, str) and wanted.startswith("world."):
            wanted = self.others.get(wanted)
        if key in self.others:
            value = self.others[key]
            if relation in _OF_PRESENCE:
                return (value is not None) is (relation == "set")
            return None if value is None else compared(value, relation, wanted)
        setting = self.setting(key)
        nobody = setting is None or (setting.known and setting.value is None and relation in _OF_PRESENCE)
        if nobody and relation in _ABSENT:
            return True if self.whole or setting is not None or key.startswith(_READ_WHOLE) else None
        if setting is None or relation in _OF_PRESENCE:
            return not nobody and relation == "set"
        return compared(setting.value, relation, wanted) if setting.known else None


def compared(value: object, relation: str, wanted: object) -> bool:
    """Whether a value and what is wanted stand in a relation."""
    if relation in _BY_TEXT:
        return _BY_TEXT[relation](value, wanted)
    if value is None or wanted is None:
        return str(value) == str(wanted)  # a file of data writes None as a text
    if relation == "has" or isinstance(value, (list, tuple, frozenset)):
        return isinstance(value, (list, tuple, frozenset)) and wanted in value
    left, right = number(value), number(wanted)
    if relation == "<":
        return left is not None and right is not None and left < right
    if relation == ">":
        return left is not None and right is not None and left > right
    return _same(value, wanted)


def _same(value: object, wanted: object) -> bool:
    if isinstance(wanted, bool):
        return truth(value) is wanted
    return str(value) == str(wanted) or (number(value) is not None and number(value) == number(wanted))


_BY_TEXT: Mapping[str, Callable[[Any, Any], bool]] = {
    "~": lambda value, wanted: value is not None and re.search(str(wanted), str(value)) is not None,
    "in": lambda value, wanted: any(_same(value, each) for each in wanted),
    "!=": lambda value, wanted: not _same(value, wanted),
}


def settings_of(
    launch: Launch, training: Training | None, verl: VerlConfig | None, framework: FrameworkConfig | None
) -> dict[str, Observed]:
    """Every setting by its name; what is nearer to the command line counts."""
    found_settings: dict[str, Observed] = dict(options_of(launch))
    for settings in (
        framework.settings if framework is not None else {},
        verl.base if verl is not None else {},
        verl.overrides if verl is not None else {},
        training.arguments if training is not None else {},
        launch.arguments,
    ):
        found_settings.update(settings)
    return found_settings


def options_of(launch: Launch) -> dict[str, Observed]:
    """`--name value` and `--name` of a program that the doctor does not know."""
    words = launch.argv
    options: dict[str, Observed] = {}
    for word, following in zip(words, (*words[1:], "--"), strict=True):
        if word.startswith("--") and len(word) > 2:
            name, equals, text = word[2:].partition("=")
            value = text if equals else "true" if following.startswith("-") else following
            options[name.replace("-", "_")] = Observed.written(name.replace("-", "_"), value, True, value)
    return options


def others_of(
    world: World | None,
    training: Training | None,
    framework: FrameworkConfig | None,
    model: Model | None,
    script: Script | None,
) -> dict[str, object]:
    """World, model, adapter, framework and imports of a run, by key; None where it is not known."""
    named = (
        training.model.value if training is not None and training.model is not None and training.model.known else None
    )
    lora = training.lora if training is not None and training.lora is not None else {}
    return {
        "world.machines": world.machines if world is not None else None,
        "world.processes": world.processes if world is not None else None,
        "world.zero_stage": world.zero_stage if world is not None else None,
        "world.backend": world.backend if world is not None else None,
        "model.name": model.name if model is not None else named,
        "model.tie_word_embeddings": model.tie_word_embeddings if model is not None else None,
        "model.hidden_size": model.hidden_size if model is not None else None,
        "framework": framework.framework if framework is not None else None,
        "script.imports": tuple({each.partition(".")[0] for each in script.imports}) if script is not None else (),
        **{f"lora.{name}": each.value for name, each in lora.items() if each.known},
    }
