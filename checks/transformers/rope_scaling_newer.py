"""The model's `rope_scaling` is of a kind that this Transformers does not know.

## What it means
Transformers before 4.43 takes `rope_scaling` of two fields alone; Llama 3.1 and later models describe it with
`rope_type` and more fields, and other models use kinds (`yarn`, `longrope`, `mrope`) that came later.
## What it does to a run
Loading the configuration raises ValueError (or KeyError of the kind) on every rank; vLLM does not start.
## What to do
Upgrade Transformers, in vLLM's environment too.
## How it is found
In a log: by the validation's exception.
## References
https://github.com/huggingface/transformers/releases/tag/v4.43.0
https://github.com/huggingface/transformers/blob/v4.42.4/src/transformers/models/llama/configuration_llama.py
https://github.com/huggingface/transformers/blob/v4.43.0/src/transformers/modeling_rope_utils.py
https://github.com/hiyouga/LlamaFactory/issues/4962
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF024", name="rope-scaling-of-newer-model", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"`rope_scaling` must be a dictionary with (?:with )?two fields, `type` and `factor`, got "),
    Signature(r"`rope_scaling`'s type field must be one of \[[^\]\n]{1,80}\], got (?P<kind>\w{1,20})"),
)


LOG_MESSAGE = Message(
    en=Words(
        "the model's `rope_scaling` is newer than the installed Transformers",
        "Llama 3.1 and later models describe `rope_scaling` with `rope_type` and more than two "
        "fields; Transformers before 4.43 refuses that.",
        'Upgrade in the environment that raises: `pip install -U "transformers>=4.43"` (with a '
        "vLLM of the same time, where vLLM loads it). Do not edit `config.json`: the model would "
        "run with wrong positions.",
    ),
    zh=Words(
        "模型的 `rope_scaling` 比已安装的 Transformers 新",
        "Llama 3.1 及之后的模型用 `rope_type` 和两个以上的字段描述 `rope_scaling`;4.43 之前的 Transformers 拒绝它。",
        '在报错的环境中升级:`pip install -U "transformers>=4.43"`(由 vLLM 加载时,vLLM '
        "也要是同期版本)。不要修改 `config.json`:否则模型会以错误的位置编码运行。",
    ),
)
