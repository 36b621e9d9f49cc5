"""A tokenizer is used where a processor, or its name, was expected.

## What it means
`AutoProcessor.from_pretrained` hands back the bare tokenizer where this Transformers knows no processor of the model
(too old for it, or the processor's files are missing from the folder). vLLM on the other hand takes the name of a
tokenizer, not the object.
## What it does to a run
AttributeError about an attribute that only a processor (or a string) has.
## What to do
Upgrade Transformers or complete the model's folder; hand vLLM the path.
## How it is found
In a log: by the attribute that the tokenizer lacks.
## References
https://github.com/QwenLM/Qwen3-VL/issues/764
https://github.com/xorbitsai/inference/issues/4205
https://github.com/vllm-project/vllm/issues/13127
https://huggingface.co/docs/transformers/main_classes/processors
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF039", name="processor-is-tokenizer", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^AttributeError: '?(?P<tokenizer>\w{0,60}Tokenizer\w{0,30})'? (?:object )?has no attribute "
        r"'?(?P<name>tokenizer|image_processor|video_processor|feature_extractor|image_token|lower|startswith|split)\b"
    ),
)

PROCESSOR = Message(
    en=Words(
        "`{tokenizer}` stands where the model's processor was expected: it has no `{name}`",
        "`AutoProcessor` fell back to the tokenizer: this Transformers does not know the model's processor yet, or "
        "`preprocessor_config.json` is missing from the folder (a checkpoint saved without the processor).",
        "Upgrade: `pip install -U transformers` (Qwen2.5-VL needs 4.49, Qwen3-VL 4.57). If it is new enough, copy "
        "`preprocessor_config.json`, `video_preprocessor_config.json` and `chat_template.json` from the base model's "
        "repository into the checkpoint, or load the processor from the base model.",
    ),
    zh=Words(
        "`{tokenizer}` 处在应为模型 processor 的位置:它没有 `{name}`",
        "`AutoProcessor` 退回成了分词器:此 Transformers 还不认识该模型的 processor,或文件夹缺少 "
        "`preprocessor_config.json`(保存检查点时没有保存 processor)。",
        "升级:`pip install -U transformers`(Qwen2.5-VL 需要 4.49,Qwen3-VL 需要 4.57)。若版本已够新,从基座模型仓库复制 "
        "`preprocessor_config.json`、`video_preprocessor_config.json` 和 `chat_template.json` 到检查点,"
        "或从基座模型加载 processor。",
    ),
)

OBJECT = Message(
    en=Words(
        "a `{tokenizer}` object was handed over where a name or path is expected",
        "The library treats the argument as text (`.{name}`). vLLM's `LLM(tokenizer=...)` takes the name or the "
        "folder of the tokenizer.",
        "Pass the path: `LLM(model=PATH, tokenizer=PATH)`, or leave `tokenizer` out; an object can be set "
        "afterwards with `llm.set_tokenizer(tokenizer)`.",
    ),
    zh=Words(
        "在需要名称或路径的地方传入了 `{tokenizer}` 对象",
        "该库把参数当作文本处理(`.{name}`)。vLLM 的 `LLM(tokenizer=...)` 接受分词器的名称或文件夹。",
        "传入路径:`LLM(model=PATH, tokenizer=PATH)`,或不写 `tokenizer`;之后可用 `llm.set_tokenizer(tokenizer)` 设置"
        "对象。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Methods of text mean that an object was passed for a name."""
    name = hits.get("name") or ""
    message = OBJECT if name in ("lower", "startswith", "split") else PROCESSOR
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        tokenizer=hits.get("tokenizer"), name=name,
    )  # fmt: skip
