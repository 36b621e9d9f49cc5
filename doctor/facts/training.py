"""What the training will be: script, YAML and command line laid over each other as the program does it."""

from __future__ import annotations

import ast
from dataclasses import field

from doctor.base.evidence import Observed, Place
from doctor.base.fact import BrokenFile, RepeatedKey, Settings
from doctor.base.record import record, replace
from doctor.facts.packages import Packages
from doctor.facts.rows import Rows
from doctor.facts.script import RewardFunction

#: `config_origin` of what ms-swift trains, and of what it trains by Megatron, with other arguments
SWIFT, SWIFT_MEGATRON = "swift.arguments", "swift.megatron.arguments"
#: the same of LLaMA-Factory
LLAMAFACTORY = "llamafactory.hparams"


@record
class Training:
    """Trainer, its arguments and its model, each with the place where it was said.

    Args:
        trainer: `GRPOTrainer`, None when none was recognised; `trainer_place` its call. A class of the user's
            counts as the one it derives from; `trainer_origin` is the full name of what is called.
        config_class: `GRPOConfig`, `SFTConfig`, `TrainingArguments` ...
        arguments: what was set explicitly, after precedence (command line over YAML over script call).
        complete: False when some arguments could not be seen (`**kwargs`, an unread parser): then "absent" proves
            nothing and a default must not be assumed.
        trainer_arguments: keywords of the trainer's call.
        lora: keywords of `LoraConfig`, None without PEFT.
        model, dataset: name or path as written.
        model_arguments: `model_init_kwargs` or the `from_pretrained` keywords.
        config_origin: full name of the configuration class, "trl.GRPOConfig". When it is not TRL's or Transformers'
            own, `arguments` holds only names that some release of theirs knows. ms-swift's and LLaMA-Factory's: with
            their own defaults.
        set_later: those of `arguments` set as attributes after the call, which no constructor checks.
        shared: those of `arguments` that a class of the user's declares itself, or that another class which the parser
            fills takes too (`trust_remote_code` of ModelConfig): the history of `config_class` does not decide them.
        dataset_processed: the rows reach the trainer changed (`map`, `rename_column`), or that is not seen.
        environment_set: variables that the script or the YAML's `env:` set.
        data_absent: local data files that the dataset's setting names and that do not exist.
        nested: dotted keys of dictionaries among the arguments: `model_init_kwargs.dtype`.
        rows: what the trainer is given, as far as the script itself makes it; None where that is not seen.
        asked_of_command, given_by_command: names that the script's own parser must be given, and those that command
            and file give to it; None where that is not seen whole.
        repeated_keys: of the file of arguments.

    """

    trainer: str | None = None
    trainer_place: Place | None = None
    trainer_origin: str = ""
    config_class: str | None = None
    config_place: Place | None = None
    arguments: Settings = field(default_factory=dict)
    complete: bool = True
    trainer_arguments: Settings = field(default_factory=dict)
    lora: Settings | None = None
    model: Observed | None = None
    dataset: Observed | None = None
    model_arguments: Settings = field(default_factory=dict)
    reward_functions: tuple[RewardFunction, ...] = ()
    broken: BrokenFile | None = None  # a TRL YAML that cannot be read
    config_origin: str = ""
    set_later: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()
    dataset_processed: bool = True
    environment_set: Settings = field(default_factory=dict)
    nested: Settings = field(default_factory=dict)
    data_absent: tuple[str, ...] = ()
    rows: Rows | None = None
    asked_of_command: tuple[str, ...] = ()
    given_by_command: frozenset[str] | None = None
    repeated_keys: tuple[RepeatedKey, ...] = ()

    def get(self, name: str) -> Observed | None:
        """The explicit setting of an argument, None when nobody set it."""
        return self.arguments.get(name)

    def value(self, name: str) -> object:
        """Value of an explicit and readable setting, None otherwise."""
        setting = self.arguments.get(name)
        return setting.value if setting is not None and setting.known else None


def effective_value(training: Training, packages: Packages, name: str) -> Observed | None:
    """The explicit setting of an argument, else the default of the installed TRL or Transformers.

    A default has no place, and its text says whose it is: "default of TRL 0.22.1". None when the value cannot be
    told: written in a way that only running tells, arguments hidden, or a release that the data do not know.
    """
    explicit = training.get(name)
    if explicit is not None:
        return explicit if explicit.known else None
    if not training.complete or training.config_class is None:
        return None
    default = _default(training.config_class, packages, name)
    if name == "bf16" and default is not None and default.value is None:
        return _unless_fp16(training, packages, default)
    return default


def _unless_fp16(training: Training, packages: Packages, default: Observed) -> Observed | None:
    """TRL fills `bf16` with the opposite of `fp16` (trl/trainer/grpo_config.py, `__post_init__`)."""
    fp16 = effective_value(training, packages, "fp16")
    return replace(default, value=not fp16.value) if fp16 is not None else None


def _default(config_class: str, packages: Packages, name: str) -> Observed | None:
    from doctor import data

    known = data.trl_class(config_class)
    if known is not None:
        version = packages.version("trl")
        if version is None or not known.exists_in(version):
            return None
        history = data.trl_argument(config_class, name)
        if history is not None and history.exists_in(version):
            return _literal(name, history.default_in(version), f"default of TRL {version}")
        if history is not None and (not history.inherited or history.exists_in(version) is None):
            return None
        if not known.inherits_training_arguments(version):
            return None
    elif config_class not in {"TrainingArguments", "Seq2SeqTrainingArguments"}:
        return None
    return _transformers_default(packages, name)


def _transformers_default(packages: Packages, name: str) -> Observed | None:
    from doctor import data

    version = packages.version("transformers")
    inherited = data.training_argument(name)
    if version is None or inherited is None or not inherited.exists_in(version):
        return None
    return _literal(name, inherited.default_in(version), f"default of Transformers {version}")


def _literal(name: str, source: str | None, text: str) -> Observed | None:
    """A default from its source text; None for a factory or another expression."""
    if source is None:
        return None
    try:
        return Observed.written(name, ast.literal_eval(source), text=text)
    except (ValueError, SyntaxError):
        return None
