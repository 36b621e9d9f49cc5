"""`gpu_memory_utilization` is not a share between 0 and 1.

## What it means
It is the part of the card that vLLM may take, 0.9 for nine tenths; it is not a percentage.
## What it does to a run
vLLM refuses a value above 1 (`GPU memory utilization must be less than 1.0`); newer releases refuse 0 and
less too.
## What to do
Write a share, like 0.9.
## How it is found
The value of the server's command, or of TRL's `vllm_gpu_memory_utilization`.
In a log: by vLLM's own message.
## References
https://github.com/vllm-project/vllm/blob/v0.8.5/vllm/config.py
https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/config/cache.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hit, Hits, Signature
from doctor.facts.serving import Serving
from doctor.facts.training import Training

PROBLEM = Problem(id="VLL022", name="gpu-memory-utilization-out-of-range", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"GPU memory utilization must be less than 1\.0\. Got (?P<share>\d{1,6}(?:\.\d{1,9})?)"),
    Signature(
        r"Input should be (?:less than or equal to 1|greater than 0)"
        r" \[type=(?:less_than_equal|greater_than), input_value=(?P<share>-?[\d.]{1,12}),"
        r" input_type=(?:float|int)\]",
    ),
    Signature(r"^gpu_memory_utilization$", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "`gpu_memory_utilization` is {share}; it is a share between 0 and 1",
        "vLLM takes that share of the whole GPU, not a percentage and not gigabytes.",
        "Write 0.9 for 90 % (`--gpu-memory-utilization 0.9`; in TRL `vllm_gpu_memory_utilization`, about "
        "0.3 when the GPU is shared with training).",
    ),
    zh=Words(
        "`gpu_memory_utilization` 为 {share};它应是 0 到 1 之间的比例",
        "vLLM 按该比例占用整张 GPU,既不是百分数,也不是 GB 数。",
        "90 % 写作 0.9(`--gpu-memory-utilization 0.9`;TRL 中为 `vllm_gpu_memory_utilization`,与训练共用 "
        "GPU 时约 0.3)。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`{name}` is {value}, and vLLM wants a share between 0 and 1",
        "It is the part of the card's memory that vLLM may take. The engine refuses other values when it "
        "is configured.",
        "Write a share, 0.9 for nine tenths.",
    ),
    zh=Words(
        "`{name}` 为 {value},而 vLLM 要求 0 到 1 之间的比例",
        "它表示 vLLM 可以占用的显存比例,引擎在配置时会拒绝其他值。",
        "写成比例,例如 0.9 表示十分之九。",
    ),
)


@check(PROBLEM)
def utilization_out_of_range(serving: Serving | None, training: Training | None) -> Judgement:
    """0 and less is told too: no release works with it."""
    if serving is not None:
        setting = serving.arguments.get("gpu_memory_utilization")
    else:
        setting = training.get("vllm_gpu_memory_utilization") if training and training.value("use_vllm") else None
    if setting is None or not setting.known:
        return
    try:
        value = float(str(setting.value))
    except ValueError:
        return
    if 0 < value <= 1:
        return
    share = value / 100 if 1 < value <= 100 else 0.9
    flag = "--gpu-memory-utilization" if serving is not None else "--vllm_gpu_memory_utilization"
    yield found(
        PROBLEM,
        MESSAGE,
        name=setting.name,
        value=setting.text or setting.value,
        where=place_of(setting),
        commands=(f"{flag} {share:g}",),
        evidence=(proof(setting),),
    )


def explain(hits: Hits) -> Finding | None:
    """Pydantic names the field on the line before: the same error may list other fields with their values."""
    share = hits.of(0) or _of_the_field(hits)
    if not share:
        return None
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("--gpu-memory-utilization 0.9",),
        share=share[0].groups["share"],
    )


def _of_the_field(hits: Hits) -> list[Hit]:
    named = {(each.file, each.line + 1) for each in hits.of(2)}
    return [each for each in hits.of(1) if (each.file, each.line) in named]
