"""Training as ms-swift's command says it, in the names of the libraries below it.

Only what means the same there is handed on, and never as complete: defaults are ms-swift's own. Its names and
defaults:
https://github.com/modelscope/ms-swift/blob/v4.5.2/swift/arguments/rlhf_args.py
https://github.com/modelscope/ms-swift/blob/v4.5.2/swift/arguments/tuner_args.py
https://github.com/modelscope/ms-swift/blob/v4.5.2/swift/arguments/base_args/quant_args.py
https://github.com/modelscope/ms-swift/blob/v4.5.2/swift/rlhf_trainers/args_mixin.py
"""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.base.fact import Settings, Unavailable
from doctor.base.record import replace
from doctor.catalogue.settings import truth
from doctor.facts.launch import Launch
from doctor.facts.training import SWIFT, SWIFT_MEGATRON, Training
from doctor.readers.command import swift

#: arguments of Transformers and TRL that ms-swift hands on as they are
_SAME = (
    "bf16", "fp16", "ddp_timeout", "generation_batch_size", "gradient_accumulation_steps", "learning_rate",
    "num_generations", "optim",
    "output_dir", "per_device_eval_batch_size", "per_device_train_batch_size", "report_to", "save_only_model",
    "save_total_limit", "steps_per_generation", "use_vllm", "vllm_gpu_memory_utilization", "vllm_mode",
    "vllm_server_base_url", "vllm_server_host", "vllm_server_port", "vllm_tensor_parallel_size",
)  # fmt: skip

#: its names for the keywords of peft.LoraConfig
_LORA = {
    "lora_rank": "r", "lora_alpha": "lora_alpha", "lora_dropout": "lora_dropout", "target_modules": "target_modules",
    "modules_to_save": "modules_to_save", "use_rslora": "use_rslora", "use_dora": "use_dora",
}  # fmt: skip

_ATTENTION = {"flash_attn": "flash_attention_2"}


def of_swift(launch: Launch) -> Training:
    """What `swift rlhf` and its kin train; `config_origin` says whose arguments these are.

    Raises:
        Unavailable: the file of arguments cannot be read.

    """
    if reason := swift.unreadable(launch):
        raise Unavailable(reason)
    given = swift.settings_of(launch)
    if launch.program == "megatron":  # its batches, precision and optimizer are told in other words
        return Training(complete=False, lora=_lora(given), model=model_of(launch, given), config_origin=SWIFT_MEGATRON)
    kept = {name: given[name] for name in _SAME if name in given}
    if _swanlab(kept.get("report_to")):
        del kept["report_to"]  # which ms-swift sets up itself
    own = {name: given[name] for name in swift.JUDGED if name in given}
    return Training(
        arguments={**own, **kept},
        complete=False,
        lora=_lora(given),
        model=model_of(launch, given),
        model_arguments=_model_arguments(given),
        config_origin=SWIFT,
    )


def _swanlab(setting: Observed | None) -> bool:
    return setting is not None and "swanlab" in str(setting.value)


def _lora(given: Settings) -> dict[str, Observed] | None:
    if swift.tuner(given) != "lora":
        return None
    found = {theirs: replace(given[name], name=theirs) for name, theirs in _LORA.items() if name in given}
    if str(found["target_modules"].value if "target_modules" in found else "all-linear").startswith(("all-", "['all-")):
        found.pop("target_modules", None)  # words of its own, which it resolves by the model's classes
    return found


def model_of(launch: Launch, given: Settings) -> Observed | None:
    """The model where it is a folder, or comes from Hugging Face; else it comes from ModelScope, with rules of its own.

    https://github.com/modelscope/ms-swift/blob/v4.5.2/swift/hub/hub.py
    """
    model = given.get("model")
    if model is None or not model.known or not isinstance(model.value, str):
        return None
    asked = given.get("use_hf")
    hugging = truth(asked.value) if asked is not None else truth(launch.environment.get("USE_HF", "0"))
    return model if hugging or model.value.startswith(("/", "./", "../", "~")) else None


def _model_arguments(given: Settings) -> dict[str, Observed]:
    found: dict[str, Observed] = {}
    if "torch_dtype" in given:
        found["torch_dtype"] = given["torch_dtype"]
    kernel = given.get("attn_impl")
    if kernel is not None and kernel.known:
        name = _ATTENTION.get(str(kernel.value), kernel.value)
        found["attn_implementation"] = replace(kernel, name="attn_implementation", value=name)
    method, bits = given.get("quant_method"), given.get("quant_bits")
    if method is not None and method.value == "bnb" and bits is not None and bits.value in (4, 8):
        name = f"load_in_{bits.value}bit"
        found[name] = replace(bits, name=name, value=True)
    return found
