"""ZeRO-3 gathers weights of different dtypes in one piece.

## What it means
Stage 3 gathers the weights of a module into one flat buffer, whose dtype must be one. Weights that bitsandbytes
quantized are integers beside floating point ones; LoRA matrices may be float32 beside a half-precision base.
## What it does to a run
RuntimeError in the first forward pass, with two GPUs or more; one GPU gathers nothing and gets through.
## What to do
ZeRO-2 (or none) with a quantized model; one dtype for all weights otherwise.
## How it is found
In a log: by DeepSpeed's words where it looks for the one dtype.
## References
https://github.com/deepspeedai/DeepSpeed/blob/v0.19.5/deepspeed/runtime/zero/partition_parameters.py
https://github.com/deepspeedai/DeepSpeed/issues/3775
https://github.com/deepspeedai/DeepSpeed/issues/4295
https://github.com/axolotl-ai-cloud/axolotl/issues/207
https://github.com/hiyouga/LlamaFactory/issues/70
https://github.com/git-cloner/llama2-lora-fine-tuning/issues/9
https://github.com/baichuan-inc/Baichuan2/issues/120
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DSP041", name="zero3-dtypes-mixed", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^RuntimeError: expected there to be only one unique element in <generator object Init\."
        r"_convert_to_deepspeed_param"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "ZeRO-3 was to gather weights of more than one dtype at once",
        "Stage 3 puts the weights of a module into one buffer of one dtype. A model that bitsandbytes loaded in 8 or "
        "4 bit has integers beside floating point numbers; LoRA matrices in float32 beside a base in fp16 or bf16 do "
        "the same.",
        "With `load_in_4bit`, `load_in_8bit` or `quantization_bit` use ZeRO-2 (`zero_optimization.stage: 2`) or plain "
        "DDP, each process with a copy of its own; or leave the quantization out and keep ZeRO-3. Without "
        "quantization bring all weights to one dtype before the engine is made (`model.to(torch.bfloat16)` after "
        "`get_peft_model`, PEFT: `autocast_adapter_dtype=False`).",
    ),
    zh=Words(
        "ZeRO-3 要一次聚合多种 dtype 的权重",
        "Stage 3 把一个模块的权重放入同一 dtype 的缓冲区。用 bitsandbytes 以 8 或 4 bit 加载的模型含有整数与浮点数两种"
        "权重;LoRA 矩阵为 float32 而基座为 fp16 或 bf16 时也一样。",
        "使用 `load_in_4bit`、`load_in_8bit` 或 `quantization_bit` 时改用 ZeRO-2(`zero_optimization.stage: 2`)或普通 "
        "DDP,每个进程各有一份模型;或不量化而保留 ZeRO-3。未量化时在创建引擎之前把所有权重转为同一 dtype"
        "(`get_peft_model` 之后 `model.to(torch.bfloat16)`;PEFT:`autocast_adapter_dtype=False`)。",
    ),
)

LOG_CONFIDENCE = LIKELY
