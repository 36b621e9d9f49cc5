"""The model's processor fails on the images or text of a request.

## What it means
vLLM calls the processor of Transformers for each request with images, and at start-up with dummy ones. The exception
of the processor stands above.
## What it does to a run
The engine does not start, or requests with images fail.
## What to do
What the finding says for the message.
## How it is found
In a log: by the message that the library raises.
## References
https://docs.vllm.ai/en/latest/features/multimodal_inputs/
https://github.com/vllm-project/vllm/blob/v0.9.2/vllm/inputs/registry.py
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="VLL096", name="processor-call-fails", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        r"(?:ValueError|RuntimeError): Failed to apply (?P<name>\w{3,60}) on data=",
        Message(
            en=Words(
                "vLLM's call of `{name}` on a prompt with its images failed",
                "The processor itself refused; its own exception stands above this one. At start-up (dummy "
                "images) Transformers and vLLM are not of one time or the processor files of the checkpoint are "
                "incomplete; later the images of the request are unfit (no RGB, too small, too many, no "
                "placeholder).",
                "Read the first traceback. At start-up: the Transformers that this vLLM asks for (`pip check`), "
                "and `preprocessor_config.json` and `chat_template` copied from the base model into a trained "
                'checkpoint. In requests: `image.convert("RGB")`, sides of at least 28 pixels, one placeholder '
                "for each image.",
            ),
            zh=Words(
                "vLLM 对含图像的提示调用 `{name}` 失败",
                "处理器自身拒绝了;其异常在此之上。启动时(虚拟图像)多为 Transformers 与 vLLM 版本不匹配,或检查点缺"
                "少处理器文件;之后则是请求中的图像不合适(不是 RGB、太小、太多、缺少占位符)。",
                "查看第一个 traceback。启动时:安装该 vLLM 要求的 Transformers(`pip check`),并把基座模型的 "
                "`preprocessor_config.json` 与 `chat_template` 复制到训练得到的检查点。请求中"
                ':`image.convert("RGB")`,边长至少 28 像素,每张图一个占位符。',
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
