"""Training as LLaMA-Factory's configuration says it: Transformers' own arguments beside those of the framework.

Its parser fills `Seq2SeqTrainingArguments`, so names and meanings are Transformers'; defaults that nobody wrote are
not assumed, since the framework changes some.
https://github.com/hiyouga/LlamaFactory/tree/ff6d4d12eeb035d6ce06805a5733dd7b29f2ac30/src/llamafactory/hparams
"""

from __future__ import annotations

from collections.abc import Mapping

from doctor import data
from doctor.base.evidence import Observed
from doctor.base.record import replace
from doctor.facts.framework_config import FrameworkConfig
from doctor.facts.training import LLAMAFACTORY, Training

#: its names for the keywords of peft.LoraConfig
_LORA = {"lora_rank": "r", "lora_alpha": "lora_alpha", "lora_dropout": "lora_dropout", "use_rslora": "use_rslora",
         "use_dora": "use_dora"}  # fmt: skip
#: its words for an attention kernel -> those of Transformers (`model/model_utils/attention.py`)
_ATTENTION = {"fa2": "flash_attention_2", "sdpa": "sdpa", "disabled": "eager"}


#: arguments of its own that checks ask for
_JUDGED = frozenset(("stage",))
#: variables by which models come from another hub (`extras/misc.py`), with names of its own
_OTHER_HUBS = ("USE_MODELSCOPE_HUB", "USE_OPENMIND_HUB")


def of_llamafactory(config: FrameworkConfig, variables: Mapping[str, str]) -> Training:
    """What `llamafactory-cli train` trains with these variables; `config_origin` says whose arguments these are."""
    given = config.settings
    model = given.get("model_name_or_path")
    if model is not None and any(enabled(variables.get(name)) for name in _OTHER_HUBS):
        model = model if str(model.value).startswith(("/", "./", "../", "~")) else None
    return Training(
        arguments={name: each for name, each in given.items() if name in _JUDGED or data.training_argument(name)},
        complete=False,
        lora=_lora(config),
        model=model,
        model_arguments=_model_arguments(config),
        config_origin=LLAMAFACTORY,
        broken=config.broken,
    )


def enabled(value: str | None) -> bool:
    """Whether a variable is a switch that is on, as LLaMA-Factory reads it (`is_env_enabled` in `extras/misc.py`)."""
    return value is not None and value.lower() in {"true", "y", "1"}


def _lora(config: FrameworkConfig) -> dict[str, Observed] | None:
    """Keywords of the adapter; LoRA is trained where nothing else is asked for."""
    given = config.settings
    tuner = given.get("finetuning_type")
    if tuner is not None and tuner.value != "lora":
        return None
    return {theirs: replace(given[name], name=theirs) for name, theirs in _LORA.items() if name in given}


def _model_arguments(config: FrameworkConfig) -> dict[str, Observed]:
    kernel, bits = config.settings.get("flash_attn"), config.settings.get("quantization_bit")
    found: dict[str, Observed] = {}
    if kernel is not None and kernel.value in _ATTENTION:
        found["attn_implementation"] = replace(kernel, name="attn_implementation", value=_ATTENTION[kernel.value])
    if bits is not None and bits.value in (4, 8):
        name = f"load_in_{bits.value}bit"
        found[name] = replace(bits, name=name, value=True)
    return found
