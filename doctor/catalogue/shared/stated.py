"""Which conditions of which release a command's settings are to be held against: libraries, scopes, values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from doctor.base.evidence import Observed
from doctor.base.record import record, replace
from doctor.catalogue.settings import number, truth
from doctor.catalogue.shared.argument_owners import inherits_training_arguments
from doctor.catalogue.shared.conditions import GROUP, UNKNOWN
from doctor.catalogue.shared.said import options_of
from doctor.data.refusals import NO_DEFAULT, default, scopes
from doctor.facts.framework_config import DISTRIBUTIONS, FrameworkConfig
from doctor.facts.launch import Launch
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.script import Flag, Script
from doctor.facts.training import Training, effective_value
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

_PROGRAMS = {
    "trl": "TRL", "transformers": "Transformers", "models": "Transformers", "swift": "ms-swift",
    "llamafactory": "LLaMA-Factory",
    "openrlhf": "OpenRLHF", "nemo_rl": "NeMo-RL", "prime_rl": "prime-rl", "areal": "AReaL", "skyrl": "SkyRL",
    "skyrl_train": "SkyRL", "verl": "veRL", "peft": "PEFT", "sglang": "SGLang",
}  # fmt: skip
#: classes that the commands of ms-swift fill
_OF_SWIFT = {"sft": ("SftArguments", "TrainArguments"), "pt": ("PretrainArguments", "TrainArguments"),
             "rlhf": ("RLHFArguments",), "rollout": ("RolloutArguments",), "deploy": ("DeployArguments",),
             "infer": ("InferArguments",)}  # fmt: skip
#: other names of options of SGLang's server
#: (https://github.com/sgl-project/sglang/blob/v0.5.0/python/sglang/srt/server_args.py)
_OF_SGLANG = {"tp": "tp_size", "tensor_parallel_size": "tp_size", "pp": "pp_size", "pipeline_parallel_size": "pp_size",
              "dp": "dp_size", "data_parallel_size": "dp_size", "ep": "ep_size", "expert_parallel_size": "ep_size",
              "model": "model_path"}  # fmt: skip
_WORLD = "world.processes"


@record
class Held:
    """Settings that a library's own check sees.

    Args:
        library, scope: of doctor/data/refused; `program` as users write it, `version` the installed one.
        settings: what is written, by full name; `whole`: what is not among them is not set.
        fallback: default of a setting that the scope's own data do not have.
        processes: that the command starts, None where nobody can tell.

    """

    library: str
    scope: str
    version: str
    settings: Mapping[str, Observed]
    whole: bool = True
    fallback: Callable[[str], Any] | None = None
    processes: int | None = None

    @property
    def program(self) -> str:
        """Its name as users write it."""
        return _PROGRAMS.get(self.library, self.library)

    def written(self, name: str) -> list[Observed]:
        """What is written of a setting, or of a group of settings."""
        if name in self.settings:
            return [self.settings[name]]
        return [each for key, each in self.settings.items() if key.startswith(f"{name}.")]

    def look_up(self, name: str, with_default: bool) -> Any:
        """Value of a setting as the check sees it."""
        if name == _WORLD:
            return UNKNOWN if self.processes is None else self.processes
        setting = self.settings.get(name)
        if setting is not None:
            return self._typed(name, setting.value) if setting.known else UNKNOWN
        if self.written(name):
            return GROUP
        if not self.whole:
            return UNKNOWN
        return self._default(name) if with_default else None

    def _default(self, name: str) -> Any:
        found = default(self.library, self.scope, self.version, name)
        if found is NO_DEFAULT:
            return self.fallback(name) if self.fallback is not None else UNKNOWN
        return found[1:] if isinstance(found, list) else found

    def _typed(self, name: str, value: Any) -> Any:
        """Text of a command line as what the default is."""
        if isinstance(value, Mapping):
            return GROUP
        if isinstance(value, tuple):
            return list(value)
        kind = self._default(name) if isinstance(value, str) else None
        if isinstance(kind, bool):
            told = truth(value)
            return UNKNOWN if told is None else told
        if isinstance(kind, (int, float)) and number(value) is not None:
            return int(float(value)) if float(value).is_integer() else float(value)
        return value


def held_of(
    launch: Launch, training: Training | None, framework: FrameworkConfig | None, verl: VerlConfig | None,
    packages: Packages, world: World | None, model: Model | None,
) -> Iterator[Held]:  # fmt: skip
    """All that the libraries of a command check of its settings."""
    processes = world.processes if world is not None else None
    if training is not None:
        yield from _of_classes(training, packages, processes)
    if launch.kind in ("swift", "swift-rollout"):
        yield from _of_swift(launch, packages, processes)
    if framework is not None:
        yield from _of_framework(launch, framework, packages, processes)
    if model is not None and model.written and model.own_code is not True:
        yield from _of_model(model, packages)
    version = packages.version("verl") if verl is not None else None
    if verl is not None and version is not None:
        settings = {**verl.base, **verl.overrides}
        yield Held("verl", "", version, settings, False, None, processes)
    if launch.module == "sglang.launch_server" and (version := packages.version("sglang")) is not None:
        options = {_OF_SGLANG.get(name, name): each for name, each in options_of(launch).items()}
        yield Held("sglang", "ServerArgs", version, options, True, None, processes)


def of_own_program(script: Script, launch: Launch, world: World | None) -> Held:
    """The arguments of a script that parses its own, as its parser gives them."""

    def fallback(name: str) -> Any:
        flag = script.flags.get(name)
        if flag is None or not (flag.has_default or flag.takes_value):
            return False if flag is not None and flag.constant is True else UNKNOWN
        return flag.default if flag.default is None or isinstance(flag.default, (str, int, float, bool)) else UNKNOWN

    names = {each.lstrip("-").replace("-", "_"): key for key, flag in script.flags.items() for each in flag.names}
    settings = {
        names.get(name, name): _parsed(each, script.flags.get(names.get(name, name)))
        for name, each in launch.arguments.items()
    }
    processes = world.processes if world is not None else None
    return Held("", "", "0", settings, True, fallback, processes)


def _parsed(typed: Observed, flag: Flag | None) -> Observed:
    """An argument of the command as the parser hands it on; `type=bool` makes True of any text that is not empty."""
    if not _is_plain(flag):
        return _unread(typed.name)
    if flag is not None and flag.converts_to == "bool" and flag.takes_value:
        return replace(typed, value=bool(typed.text))
    return typed


def _is_plain(flag: Flag | None) -> bool:
    """Whether what is typed stays what it is, or becomes a number."""
    return flag is not None and (flag.converts_to in ("int", "float", "str", "bool") or not flag.takes_value)


def _unread(name: str) -> Observed:
    return Observed.written(name, None, False)


def _of_model(model: Model, packages: Packages) -> Iterator[Held]:
    """What Transformers' class of a model's configuration checks of its `config.json`."""
    version = packages.version("transformers")
    if version is not None and model.model_type in scopes("models"):
        yield Held("models", model.model_type, version, model.written)


def _of_classes(training: Training, packages: Packages, processes: int | None) -> Iterator[Held]:
    """TRL's and Transformers' own classes; a class of the user's may check otherwise, and change what it is given."""
    origins = (training.config_origin, training.trainer_origin)
    if not all(not each or each.startswith(("trl.", "transformers.")) for each in origins):
        return
    kept = training.shared | training.set_later
    settings = {
        name: each if name not in kept else Observed.written(name, None, False)
        for name, each in training.arguments.items()
    }
    trl, transformers = packages.version("trl"), packages.version("transformers")

    def fallback(name: str) -> Any:
        found = effective_value(training, packages, name)
        return UNKNOWN if found is None else found.value

    owner = training.config_class
    for scope in (owner, training.trainer):
        if scope is not None and trl is not None and scope in scopes("trl"):
            yield Held("trl", scope, trl, settings, training.complete, fallback, processes)
    if transformers is not None and inherits_training_arguments(owner, trl or ""):
        scope = owner if owner in scopes("transformers") else "TrainingArguments"
        yield Held("transformers", str(scope), transformers, settings, training.complete, fallback, processes)
    peft = packages.version("peft")
    if training.lora is not None and peft is not None:
        yield Held("peft", "LoraConfig", peft, training.lora, True, None, processes)


def _of_swift(launch: Launch, packages: Packages, processes: int | None) -> Iterator[Held]:
    version = packages.version("ms-swift")
    known = scopes("swift")
    scope = next((each for each in _OF_SWIFT.get(launch.subcommand or "", ()) if each in known), None)
    ours = launch.program != "megatron" and "config" not in launch.arguments  # Megatron's arguments are others
    if version is not None and scope is not None and ours:
        yield Held("swift", scope, version, launch.arguments, True, None, processes)


def _of_framework(
    launch: Launch, framework: FrameworkConfig, packages: Packages, processes: int | None
) -> Iterator[Held]:
    name, whole = framework.framework, not framework.absent and framework.broken is None
    carried = next((each for each in DISTRIBUTIONS[name] if packages.version(each) is not None), None)
    version = packages.version(carried) if carried is not None else None
    name = "skyrl_train" if carried == "skyrl-train" else name
    known = scopes(name)
    scope = "" if "" in known else _scope_of(launch, known)
    trains = name != "llamafactory" or "train" in launch.argv or launch.script is not None
    if version is not None and scope is not None and trains:
        yield Held(name, scope, version, framework.settings, whole, None, processes)
    transformers = packages.version("transformers")
    if name == "llamafactory" and transformers is not None and trains:
        yield Held("transformers", "Seq2SeqTrainingArguments", transformers, framework.settings, whole, None, processes)


def _scope_of(launch: Launch, known: tuple[str, ...]) -> str | None:
    """The scope that a command's program or module names: `rl` of prime-rl, a module of OpenRLHF, `grpo` of AReaL."""
    words = [each.rpartition("/")[2].removesuffix(".py") for each in launch.argv if not each.startswith("-")]
    return next(
        (scope for scope in known for word in words if word == scope or scope in word.split("_")), None
    )  # fmt: skip
