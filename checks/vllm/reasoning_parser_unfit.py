"""The reasoning parser that was chosen does not belong to the model's tokenizer.

## What it means
A parser (`--reasoning-parser deepseek_r1`, `qwen3`, `gemma4` ...) looks for the tokens that begin and end the model's
thoughts. The tokenizer of another model, or of a release without thoughts, does not hold them as tokens.
## What it does to a run
The server ends at the start, or the first chat request fails.
## What to do
Name the parser of this model, or none.
## How it is found
In a log: by the exception with the parser's name.
## References
https://docs.vllm.ai/en/latest/features/reasoning_outputs/
https://github.com/vllm-project/recipes/issues/515
https://github.com/vllm-project/vllm/blob/v0.8.5/vllm/reasoning/deepseek_r1_reasoning_parser.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL073", name="reasoning-parser-unfit", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"RuntimeError: (?P<parser>[\w ]{1,60}?) reasoning parser could not locate (?:think )?start/end tokens "
        r"in the tokenizer"
    ),
)

LOG_CONFIDENCE = CONFIRMED

LOG_MESSAGE = Message(
    en=Words(
        "the reasoning parser `{parser}` does not belong to the tokenizer of the model that is served",
        "It looks for the tokens that begin and end the thoughts, and this tokenizer does not hold them: another model "
        "or size than meant, a release without thoughts, or a tokenizer saved without the added tokens.",
        "Compare `--model` with the parser. Serve the model that has these tokens, name its own parser "
        "(https://docs.vllm.ai/en/latest/features/reasoning_outputs/), or leave `--reasoning-parser` out. For a "
        "fine-tuned model copy `tokenizer.json` and `tokenizer_config.json` of the base model.",
    ),
    zh=Words(
        "推理解析器 `{parser}` 与所部署模型的分词器不匹配",
        "它查找思考内容的起止 token,而该分词器没有它们:模型或尺寸与预期不同、是不带思考的版本,或保存分词器时缺少新增"
        " token。",
        "核对 `--model` 与解析器:部署带有这些 token 的模型,使用该模型自己的解析器"
        "(https://docs.vllm.ai/en/latest/features/reasoning_outputs/),或去掉 `--reasoning-parser`。"
        "微调模型请复制基座模型的 `tokenizer.json` 和 `tokenizer_config.json`。",
    ),
)
