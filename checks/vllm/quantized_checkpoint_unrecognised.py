"""vLLM loads a quantized checkpoint as an ordinary one.

## What it means
Files of AWQ, GPTQ, bitsandbytes or FP8 checkpoints hold weights that ordinary ones lack (`qweight`, `weight.absmax`,
`weight_scale` ...). vLLM learns of the quantization from config.json or from `--quantization`; where it does not,
where a layer was quantized that it expects in full, or where its release does not know the format for this model, it
meets a name without a place.
## What it does to a run
KeyError while weights are loaded; the engine does not start.
## What to do
Name the quantization, or load a checkpoint that vLLM knows.
## How it is found
In a log: by the KeyError with `load_weights` in the traceback; the ending of the name tells the kind.
## References
https://docs.vllm.ai/en/latest/features/quantization/
https://github.com/vllm-project/vllm/issues/11122
https://github.com/vllm-project/vllm/issues/11010
https://github.com/unslothai/unsloth/issues/1208
https://github.com/vllm-project/llm-compressor/issues/2255
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL072", name="quantized-checkpoint-unrecognised", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^KeyError: '(?P<weight>[\w.]{1,160}\.(?:w\d{1,3}_)?(?P<mark>qweight|qzeros|scales|g_idx|"
        r"weight_scale(?:_inv)?|input_scale|weight_zero_point|weight_packed|"
        r"weight\.(?:absmax|quant_map|nested_absmax|nested_quant_map|quant_state\.\w{1,40})))'",
        frame=r"(?:vllm|sglang)[\\/]\S{1,160}:_?load_weights?$",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{weight}` belongs to a checkpoint quantized with {kind}, and the engine loads an ordinary one",
        "The checkpoint is quantized. The engine was not told, or did not find it in the place where it looks "
        "(`quantization_config` in config.json; for models of several parts it may stand in `text_config`), or its "
        "release does not support that format for this architecture or layer.",
        "Name it: {what}. If it is named already, upgrade vLLM, or serve the unquantized weights (merge LoRA into "
        "16 bit: Unsloth `save_method='merged_16bit'`).",
    ),
    zh=Words(
        "`{weight}` 属于 {kind} 检查点,而引擎按普通检查点加载",
        "该检查点是量化的。引擎没有被告知,或在它查找的位置没有找到(config.json 的 `quantization_config`;多部分模型可"
        "能写在 `text_config` 中),或该版本不支持这种格式用于此架构或层。",
        "指明量化方式:{what}。若已指明,请升级 vLLM,或部署未量化的权重(把 LoRA 合并为 16 位:Unsloth 的 "
        "`save_method='merged_16bit'`)。",
    ),
)


def _kind(mark: str) -> tuple[str, str]:
    """(name of the format, how it is named to vLLM), by the ending of the weight's name."""
    if mark.startswith("weight."):
        return "bitsandbytes", "`--quantization bitsandbytes --load-format bitsandbytes` (vLLM before 0.8 needs both)"
    if mark in ("qweight", "qzeros", "scales", "g_idx"):
        return "AWQ or GPTQ", "`--quantization awq --dtype half`, or `--quantization gptq`"
    return "FP8 or compressed-tensors", "`--quantization fp8`, or `--quantization compressed-tensors`"


def explain(hits: Hits) -> Finding:
    """The ending of the name tells the format."""
    kind, what = _kind(hits.get("mark") or "")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        weight=hits.get("weight"), kind=kind, what=what,
    )  # fmt: skip
