"""What a run asks for by meaning, whatever its framework calls it.

What nobody wrote has no meaning here: defaults are the frameworks' own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Optional

from doctor.base.evidence import Observed
from doctor.base.record import record
from doctor.catalogue.settings import number, truth
from doctor.catalogue.shared.dialects import DIALECTS, LEARNS_FROM, MEANINGS, OF_GROUPS, Dialect, Key
from doctor.facts.framework_config import FrameworkConfig
from doctor.facts.launch import Launch
from doctor.facts.training import SWIFT, Training
from doctor.facts.verl_config import VerlConfig

#: beginnings of programs that say by their names what they train with; `rl` is prime-rl's
_OF_PROGRAM = {"train_dpo": "dpo", "train_kto": "kto", "train_sft": "sft", "run_grpo": "grpo", "run_dpo": "dpo",
               "run_sft": "sft"}  # fmt: skip
_OF_PRIME = {"rl": "grpo", "sft": "sft"}
#: what ms-swift's subcommands train where no `rlhf_type` is given
_OF_SWIFT = {"rlhf": "dpo", "sft": "sft", "pt": "pt"}
#: ways to train that put no adapter on the model
_FULL = frozenset(("full", "freeze"))


@record
class Recipe:
    """The settings of one run.

    Args:
        program: the framework as people write it.
        settings: meaning (`doctor.catalogue.shared.dialects.MEANINGS`) -> the setting as it is written.
        method: the algorithm in the framework's words, None where it cannot be told.
        adapter: whether an adapter is trained, None where it cannot be told.
        adam: whether no optimizer but one of Adam's kind is named: those of others have rates of their own, Muon 0.02
            and Prodigy 1.

    """

    program: str
    settings: Mapping[str, Observed]
    method: Optional[str] = None
    adapter: Optional[bool] = None
    adam: bool = True

    @property
    def learns_from(self) -> str | None:
        """One of `SAMPLES`, `PAIRS` and `DEMONSTRATIONS`; None where it cannot be told."""
        return LEARNS_FROM.get(self.method or "")

    @property
    def of_groups(self) -> bool:
        """Whether it is known that advantages are differences within the answers to one prompt."""
        return self.method in OF_GROUPS and "teacher" not in self.settings


def recipe_of(
    launch: Launch | None, training: Training | None, verl: VerlConfig | None, framework: FrameworkConfig | None
) -> Recipe | None:
    """The recipe of a run; None where it trains with none of the frameworks of the table."""
    told = next(_written(training, verl, framework), None)
    if told is None:
        return None
    name, written = told
    dialect = DIALECTS[name]
    found = {each: _first(getattr(dialect, each), written) for each in MEANINGS}
    settings = {meaning: setting for meaning, setting in found.items() if setting is not None}
    method, adapter = _method(dialect, written, launch, name), _adapter(dialect, written)
    return Recipe(dialect.program, settings, method, adapter, all(map(_is_adam, _optimizers(dialect, written))))


def _written(
    training: Training | None, verl: VerlConfig | None, framework: FrameworkConfig | None
) -> Iterator[tuple[str, Mapping[str, Observed]]]:
    """The framework, and what was set for it."""
    if verl is not None:
        yield "verl", {**verl.base, **verl.overrides}
    if framework is not None and framework.framework in DIALECTS:
        yield framework.framework, framework.settings
    if training is not None and training.config_origin == SWIFT:
        yield "swift", training.arguments


def _first(keys: tuple[Key, ...], written: Mapping[str, Observed]) -> Observed | None:
    for key in keys:
        setting = _setting(key.name, written)
        if setting is not None and setting.known and _is_used(key, written):
            return setting
    return None


def _setting(name: str, written: Mapping[str, Observed]) -> Observed | None:
    """A setting by its full name, or by the end of a dotted one."""
    if name in written or "." not in name:
        return written.get(name)
    return next((each for full, each in written.items() if full.endswith(f".{name}")), None)


def _is_used(key: Key, written: Mapping[str, Observed]) -> bool:
    if not key.needs:
        return True
    switch = _setting(key.needs, written)
    return key.by_default if switch is None else switch.known and truth(switch.value) is True


def _method(dialect: Dialect, written: Mapping[str, Observed], launch: Launch | None, framework: str) -> str | None:
    for name in dialect.method:
        setting = _setting(name, written)
        if setting is not None:
            return str(setting.value).rpartition(".")[2].lower() if setting.known else None
    return _by_program(launch, framework) or dialect.otherwise or None


def _by_program(launch: Launch | None, framework: str) -> str | None:
    """What the name of the started program says."""
    if launch is None:
        return None
    if framework == "swift":
        return _OF_SWIFT.get(launch.subcommand or "")
    words = [each.rpartition("/")[2].removesuffix(".py").rpartition(".")[2] for each in launch.argv]
    if framework == "prime_rl":
        return next((_OF_PRIME[word] for word in words if word in _OF_PRIME), None)
    return next((method for word in words for start, method in _OF_PROGRAM.items() if word.startswith(start)), None)


def _adapter(dialect: Dialect, written: Mapping[str, Observed]) -> bool | None:
    for name in dialect.adapter:
        setting = _setting(name, written)
        if setting is None:
            continue
        if not setting.known:
            return None
        rank, switch = number(setting.value), truth(setting.value)
        if rank is not None:
            return rank > 0
        return switch if switch is not None else str(setting.value).lower() not in _FULL
    return dialect.always


def _optimizers(dialect: Dialect, written: Mapping[str, Observed]) -> Iterator[Observed]:
    named = (_setting(key.name, written) for key in dialect.optimizer)
    return (each for each in named if each is not None and truth(each.value) is not False)


def _is_adam(setting: Observed) -> bool:
    name = str(setting.value).lower()
    return setting.known and "adam" in name and "dadapt" not in name
