"""`from_pretrained` was given an argument that neither it nor the model's class takes.

## What it means
What `from_pretrained` does not know itself it hands to the model's `__init__`, which takes the configuration only. The
argument is of another release (`dtype` before 4.56, `use_flash_attention_2` after it was dropped), of another loader
(Unsloth's `fast_inference`, `load_in_fp8`), of a package that is not there, or misspelt.
## What it does to a run
TypeError before the weights are read.
## What to do
Write it as the installed release wants it, or install the release of the code's time.
## How it is found
In a log: by the TypeError of a model's class below `from_pretrained`.
## References
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/modeling_utils.py
https://github.com/unslothai/unsloth/issues/2931
https://github.com/unslothai/unsloth/issues/3649
https://github.com/huggingface/trl/issues/3423
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF063", name="model-keyword-unknown", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^TypeError: (?:(?P<model>[A-Z]\w{1,80})\.)?__init__\(\) got an unexpected keyword argument"
        r" '(?P<name>\w{1,80})'",
        frame=r"modeling_utils\.py:from_pretrained$",
        symptom_of=("TRF010", "TRF019", "TRF017", "TRF030", "PFT", "BNB"),
    ),
)

#: argument -> what to write instead
_NEW = {
    "use_flash_attention_2": '`attn_implementation="flash_attention_2"`',
    "use_flash_attn": '`attn_implementation="flash_attention_2"`',
    "dtype": "`torch_dtype=...` (`dtype` came with Transformers 4.56)",
    "load_in_8bit": "`quantization_config=BitsAndBytesConfig(load_in_8bit=True)`",
    "load_in_4bit": "`quantization_config=BitsAndBytesConfig(load_in_4bit=True)`",
    "use_auth_token": "`token=...`",
}
#: argument -> the release of Transformers that brought it
_CAME = {"attn_implementation": "4.36"}
#: arguments of Unsloth's own loader
_UNSLOTH = {
    "fast_inference",
    "load_in_fp8",
    "max_lora_rank",
    "gpu_memory_utilization",
    "float8_kv_cache",
    "random_state",
}

LOG_MESSAGE = Message(
    en=Words(
        "`from_pretrained({name}=...)`: neither Transformers nor `{model}` takes this argument",
        "What `from_pretrained` does not know itself is handed to the model, which takes its configuration only. The "
        "name is of another release of Transformers, belongs to another loader, or is misspelt.",
        "{instead}Look at `transformers.__version__` and at the release that the code was written for.",
    ),
    zh=Words(
        "`from_pretrained({name}=...)`:Transformers 与 `{model}` 都不接受该参数",
        "`from_pretrained` 不认识的参数会交给模型,而模型只接受其配置。该名称属于另一个 Transformers 版本、另一个加载器,"
        "或拼写错误。",
        "{instead_zh}查看 `transformers.__version__` 以及代码所针对的版本。",
    ),
)
OF_UNSLOTH = Message(
    en=Words(
        "the installed Unsloth hands `{name}` on to `{model}`, which does not take it",
        "`{name}` is an argument of Unsloth's loader. A release of Unsloth that does not have it for this class of "
        "models (vision models, mixtures of experts), or that does not find the package behind it (vLLM for "
        "`fast_inference`), passes it through to Transformers.",
        "Upgrade both of its packages, `pip install -U --no-deps unsloth unsloth_zoo`, with the vLLM that this release "
        "names; or leave `{name}` out, and `use_vllm` with it.",
    ),
    zh=Words(
        "所装的 Unsloth 把 `{name}` 传给了 `{model}`,而后者不接受它",
        "`{name}` 是 Unsloth 加载器的参数。若该版本 Unsloth 对这类模型(视觉模型、MoE)没有它,或找不到其背后的包"
        "(`fast_inference` 需要 vLLM),就会把它原样传给 Transformers。",
        "升级它的两个包:`pip install -U --no-deps unsloth unsloth_zoo`,并使用该版本指明的 vLLM;或去掉 `{name}` 以及 "
        "`use_vllm`。",
    ),
)


OF_TRL = Message(
    en=Words(
        "TRL loads the model with `{name}`, which `{model}` does not take",
        "Where the trainer is given a name or a path it loads the model itself, and hands `{name}` on. The class of "
        "this model (remote code, or a release of Transformers with a gap for it) does not know the argument.",
        "Load the model yourself and pass the object: `model = AutoModelForCausalLM.from_pretrained(PATH, ...)`, "
        "`GRPOTrainer(model=model, ...)`. Or upgrade: `pip install -U trl transformers`.",
    ),
    zh=Words(
        "TRL 加载模型时传入了 `{name}`,而 `{model}` 不接受它",
        "传给训练器的是名称或路径时,它会自己加载模型并传入 `{name}`。该模型的类(远程代码,或对其支持不完整的 "
        "Transformers 版本)不认识该参数。",
        "自己加载模型并传入对象:`model = AutoModelForCausalLM.from_pretrained(PATH, ...)`,`GRPOTrainer(model=model, "
        "...)`。或升级:`pip install -U trl transformers`。",
    ),
)
#: what TRL's trainers add by themselves when they load a model
#: https://github.com/huggingface/trl/blob/v0.16.1/trl/trainer/grpo_trainer.py
_OF_TRL = {"use_cache"}


def explain(hits: Hits) -> Finding:
    """An argument of Unsloth's, one whose new name is known, or any other."""
    name = hits.get("name") or ""
    through = any("unsloth" in frame for frame in hits.first.frames)
    new = _NEW.get(name)
    came = _CAME.get(name)
    instead = f"Write {new}, or leave it out. " if new else f"Leave `{name}` out or correct its name. "
    instead_zh = f"改写为 {new},或去掉。" if new else f"去掉 `{name}` 或改正其名称。"
    if came:
        instead = f'It came with Transformers {came}: `pip install -U "transformers>={came}"`, or leave it out. '
        instead_zh = f'它从 Transformers {came} 起才有:`pip install -U "transformers>={came}"`,或去掉它。'
    if name in _OF_TRL and any(re.search(r"trl[\\/](?:trainer|models)[\\/]", each) for each in hits.first.frames):
        return found(
            PROBLEM, OF_TRL, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=name,
            model=hits.get("model") or "the model's class",
        )  # fmt: skip
    return found(
        PROBLEM, OF_UNSLOTH if through and (name in _UNSLOTH or not new) else LOG_MESSAGE, where=hits.where(),
        evidence=hits.evidence(), confidence=LIKELY, name=name, model=hits.get("model") or "the model's class",
        instead=instead, instead_zh=instead_zh,
    )  # fmt: skip
