"""ZeRO-3 meets a trainable weight that it has not partitioned.

## What it means
Under ZeRO-3 every parameter is marked (`ds_id`, `ds_numel`, `ds_status`) when the model is made inside of `zero.Init`
or when the engine converts it. A parameter that replaced a marked one afterwards (resized embeddings, layers made new,
quantized weights, an adapter put on later, dtype casts that make new parameters) carries no marks.
## What it does to a run
AttributeError while the engine or its optimizer is made, or in the first forward pass.
## What to do
Change the model before DeepSpeed sees it, or use ZeRO-2.
## How it is found
In a log: by the marks that a parameter lacks.
## References
https://github.com/huggingface/transformers/issues/24792
https://deepspeed.readthedocs.io/en/latest/zero3.html#constructing-massive-models
https://huggingface.co/docs/peft/accelerate/deepspeed
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DSP034", name="parameter-made-after-partitioning", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^AttributeError: '(?P<kind>Parameter|Tensor|Params4bit|Int8Params)' object has no attribute "
        r"'(?P<mark>ds_(?:id|numel|status|shape|tensor|persist|active_sub_modules|process_group))'"
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "a `{kind}` without `{mark}`: ZeRO-3 has not partitioned this weight",
        "It was made after DeepSpeed had converted the model: new or resized embeddings, an adapter that was added "
        "or cast later, quantized weights (`load_in_4bit` with ZeRO-3), or a model that was loaded outside of "
        "`zero.Init` beside one that was inside.",
        "Resize, add adapters and cast before `accelerator.prepare` or `deepspeed.initialize`; make "
        "`TrainingArguments` with `deepspeed=` before `from_pretrained`, and give no `device_map`. With 4-bit or "
        "8-bit weights use ZeRO-2 or FSDP, or upgrade all of it together: `pip install -U deepspeed accelerate peft "
        "bitsandbytes`.",
    ),
    zh=Words(
        "一个 `{kind}` 没有 `{mark}`:ZeRO-3 没有切分该权重",
        "它是在 DeepSpeed 转换模型之后产生的:新建或调整大小的嵌入、之后添加或转换类型的适配器、量化权重(ZeRO-3 配合 "
        "`load_in_4bit`),或一个模型在 `zero.Init` 之外加载而另一个在其中。",
        "在 `accelerator.prepare` 或 `deepspeed.initialize` 之前完成调整大小、添加适配器和类型转换;在 "
        "`from_pretrained` 之前创建带 `deepspeed=` 的 `TrainingArguments`,并且不要给 `device_map`。4 位或 8 位权重请"
        "使用 ZeRO-2 或 FSDP,或一起升级:`pip install -U deepspeed accelerate peft bitsandbytes`。",
    ),
)
