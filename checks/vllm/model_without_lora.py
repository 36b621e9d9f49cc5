"""The model class of this vLLM takes no LoRA adapter.

## What it means
A model class of vLLM declares which of its layers adapters may change. Those of new and rare architectures do so some
releases later, or never.
## What it does to a run
The engine stops when the model is made with LoRA enabled.
## What to do
Upgrade vLLM, or serve the merged model.
## How it is found
In a log: by vLLM's words.
## References
https://docs.vllm.ai/en/latest/models/supported_models/
https://docs.vllm.ai/en/latest/features/lora/
https://github.com/vllm-project/vllm/issues/3044
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL076", name="model-without-lora", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"(?:ValueError|AssertionError): (?:Model )?(?P<model>\w{1,80}) does not support LoRA(?:,| yet)"),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{model}` of this vLLM does not take LoRA adapters",
        "LoRA was switched on (`--enable-lora`, `enable_lora=True`, or a framework that sends adapters "
        "instead of whole weights), and the class does not declare layers that adapters may change.",
        "Upgrade vLLM where a newer release lists the model with LoRA (`pip install -U vllm`), or merge "
        "and serve without it: `PeftModel.from_pretrained(base, "
        '"adapter").merge_and_unload().save_pretrained("merged")`, then `vllm serve merged`. In training '
        "let the framework merge before it sends weights (ms-swift: `--vllm_enable_lora false`; TRL merges "
        "by itself).",
    ),
    zh=Words(
        "此 vLLM 的 `{model}` 不接受 LoRA 适配器",
        "启用了 LoRA(`--enable-lora`、`enable_lora=True`,或某个框架发送适配器而不是完整权重),而该类没有声明"
        "适配器可以修改的层。",
        "若更新的版本支持该模型的 LoRA,升级 vLLM(`pip install -U vllm`);或合并后不带 LoRA 提供服务"
        ':`PeftModel.from_pretrained(base, "adapter").merge_and_unload().save_pretrained("merged")`,然后'
        " `vllm serve merged`。训练时让框架在发送权重前合并(ms-swift:`--vllm_enable_lora false`;TRL 会自行"
        "合并)。",
    ),
)
