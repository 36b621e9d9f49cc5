"""Which class an argument of a parser belongs to: the training configuration, the model's, the script's own."""

from __future__ import annotations

from collections.abc import Iterable

from doctor import data
from doctor.base.evidence import Observed
from doctor.base.fact import Settings
from doctor.base.record import distinct
from doctor.facts.script import LocalClass, Script

#: subcommands of `trl` that train, with their trainer
#: (https://github.com/huggingface/trl/tree/main/trl/scripts)
TRL_COMMANDS = {
    "grpo": "GRPOTrainer",
    "sft": "SFTTrainer",
    "dpo": "DPOTrainer",
    "kto": "KTOTrainer",
    "rloo": "RLOOTrainer",
    "reward": "RewardTrainer",
}
_BESIDE = ("ModelConfig", "DatasetMixtureConfig", "ScriptArguments")
_NO_TRAINING = frozenset({"ModelConfig", "DatasetMixtureConfig", "ScriptArguments", "DatasetConfig"})
_TRAINING_ARGUMENTS = frozenset({"TrainingArguments", "Seq2SeqTrainingArguments"})
_LIBRARIES = ("trl.", "transformers.")

#: ModelConfig's names for the keywords of peft.LoraConfig (trl/trainer/utils.py, `get_peft_config`)
_LORA = {
    "lora_r": "r",
    "lora_alpha": "lora_alpha",
    "lora_dropout": "lora_dropout",
    "lora_target_modules": "target_modules",
    "lora_target_parameters": "target_parameters",
    "lora_modules_to_save": "modules_to_save",
    "lora_task_type": "task_type",
    "use_rslora": "use_rslora",
    "use_dora": "use_dora",
}
#: ModelConfig's names for the keywords of `from_pretrained` (trl/scripts/grpo.py)
_MODEL = {
    "dtype": "dtype",
    "torch_dtype": "torch_dtype",
    "attn_implementation": "attn_implementation",
    "trust_remote_code": "trust_remote_code",
    "model_revision": "revision",
    "load_in_4bit": "load_in_4bit",
    "load_in_8bit": "load_in_8bit",
}

#: keywords of `from_pretrained` that a script or a command gives
MODEL_KEYWORDS = frozenset(_MODEL.values())


def config_of(trainer: str) -> str:
    """Configuration class of a trainer: `GRPOTrainer` takes a `GRPOConfig`."""
    if trainer == "Trainer":
        return "TrainingArguments"
    if trainer == "Seq2SeqTrainer":
        return "Seq2SeqTrainingArguments"
    return f"{trainer.removesuffix('Trainer')}Config"


def is_training_config(name: str) -> bool:
    """Whether a class of the stack configures a trainer."""
    if name in _NO_TRAINING:
        return False
    return name in _TRAINING_ARGUMENTS or (name.endswith("Config") and data.trl_class(name) is not None)


def is_library_origin(origin: str) -> bool:
    """Whether a full name is one of TRL's or Transformers' own."""
    return origin.startswith(_LIBRARIES) or "." not in origin


def accepted_by(config_class: str, name: str) -> bool:
    """Whether any known release of a configuration class takes an argument."""
    return data.trl_argument(config_class, name) is not None or data.training_argument(name) is not None


@distinct
class Owners:
    """Classes that a parser fills, and the training configuration among them.

    `closed`: every class is known, so that a name which none of them has is a mistake rather than somebody else's.
    """

    config_class: str
    beside: tuple[str, ...] = ()
    local: tuple[LocalClass, ...] = ()
    closed: bool = True

    def is_training(self, name: str) -> bool:
        """Whether an argument is one of the training configuration (or of nobody, where that can be told)."""
        if accepted_by(self.config_class, name):
            return True
        if any(name in each.fields for each in self.local):
            return False
        return self.closed and not any(data.trl_argument(each, name) is not None for each in self.beside)

    def shared(self, names: Iterable[str]) -> frozenset[str]:
        """Those of `names` that another class takes as well, in some release (ModelConfig: `trust_remote_code`)."""
        beside = [each for each in self.beside if each in _BESIDE]
        return frozenset(
            name
            for name in names
            if any(name in each.fields for each in self.local)
            or any(data.trl_argument(each, name) is not None for each in beside)
        )

    def training_settings(self, settings: Settings) -> dict[str, Observed]:
        """The settings that go to the training configuration."""
        return {name: each for name, each in settings.items() if self.is_training(name)}


def owners_of_script(script: Script, config_class: str) -> Owners:
    """Owners of the arguments that a script's parser takes; `config_class` without the user's subclass."""
    beside, local, closed = [], [], not script.tolerates_unknown
    imported = {dotted.rpartition(".")[2]: dotted for dotted in script.imports}
    for name in script.parses_arguments_into:
        if name in script.classes:
            local.append(script.classes[name])
            base = script.classes[name].base
            beside += [base] if base is not None else []
        elif data.trl_class(name) is not None or name in _TRAINING_ARGUMENTS:
            beside.append(name)
            closed = closed and is_library_origin(imported.get(name, name))
        else:
            closed = False
    return Owners(config_class, tuple(each for each in beside if each != config_class), tuple(local), closed)


def owners_of_trl(command: str) -> Owners:
    """Owners of the arguments of `trl grpo` and the like."""
    config_class = config_of(TRL_COMMANDS[command])
    own = (f"{command.upper()}ScriptArguments", f"{command.capitalize()}ScriptArguments")
    return Owners(config_class, (*_BESIDE, *own))


def lora_of(settings: Settings) -> dict[str, Observed] | None:
    """Keywords of `LoraConfig` as `get_peft_config(model_args)` makes them; None without `use_peft`."""
    used = settings.get("use_peft")
    if used is None or used.value is not True:
        return None
    return {_LORA[name]: each for name, each in settings.items() if name in _LORA}


def model_arguments_of(settings: Settings) -> dict[str, Observed]:
    """Keywords of `from_pretrained` among the arguments of `ModelConfig`."""
    return {_MODEL[name]: each for name, each in settings.items() if name in _MODEL}
