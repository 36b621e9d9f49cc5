"""The tokenizer has no padding token, and this TRL does not set one.

## What it means
GRPO pads prompts of different lengths. TRL 0.17 and newer take the end-of-sequence token where a tokenizer
has no padding token; 0.14 to 0.16 do not.
## What it does to a run
The first batch raises "Asking to pad but the tokenizer does not have a padding token".
## What to do
Set `tokenizer.pad_token = tokenizer.eos_token` and pass the tokenizer as `processing_class`, or install TRL
0.17 or newer.
## How it is found
The tokenizer files of the local model and the installed TRL.
In a log: by the exception of Transformers, or by the padding of TRL that was handed no token.
## References
https://github.com/huggingface/trl/blob/v0.17.0/trl/trainer/grpo_trainer.py#L441
https://huggingface.co/docs/transformers/pad_truncation
"""

from __future__ import annotations

from doctor.checks.trl._helpers import installed, is_grpo
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(id="DAT010", name="pad-token-missing", severity=WARNING, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: Asking to pad but the tokenizer does not have a padding token"),
    Signature(r"ValueError: Cannot handle batch sizes > 1 if no padding token is defined"),
    Signature(
        r"TypeError: full\(\): argument 'fill_value' \(position 2\) must be Number, not NoneType",
        frame=r"trl[\\/]trainer[\\/]utils\.py:pad$",
    ),
    Signature(
        r"TypeError: nonzero\(\): argument 'input' \(position 1\) must be Tensor, not bool",
        frame=r":_pre_process_inputs$",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the tokenizer has no padding token, and a batch had to be padded",
        "Rows of different lengths are filled up with the padding token; GPT-2, Llama and others come without one.",
        "Set one before the trainer is built, usually `pad_token` of the tokenizer to its `eos_token`, "
        "and hand the tokenizer over (`processing_class=tokenizer`; before TRL 0.12 `tokenizer=`). "
        "GRPOTrainer of TRL 0.17 and newer does so by itself.",
    ),
    zh=Words(
        "分词器没有 padding token,而批次需要填充",
        "不同长度的行用 padding token 补齐;GPT-2、Llama 等模型不自带该 token。",
        "在构建训练器之前设置,通常把分词器的 `pad_token` 设为其 `eos_token`,并传入分词器"
        "(`processing_class=tokenizer`;TRL 0.12 之前为 `tokenizer=`)。TRL 0.17 及以上的 GRPOTrainer 会自"
        "动设置。",
    ),
)

MESSAGE = Message(
    en=Words(
        "the tokenizer of `{model}` has no padding token, and TRL {version} sets none",
        'The first batch raises "Asking to pad but the tokenizer does not have a padding token", unless '
        "the script sets one.",
        "Set a padding token in the script, or install TRL 0.17 or newer.",
    ),
    zh=Words(
        "`{model}` 的分词器没有 padding token,而 TRL {version} 不会自动设置",
        "除非脚本自行设置,否则第一个批次会报错 Asking to pad but the tokenizer does not have a padding token。",
        "在脚本中设置 padding token,或安装 TRL 0.17 及以上版本。",
    ),
)


@check(PROBLEM)
def pad_token_missing(training: Training, model: Model, packages: Packages) -> Judgement:
    """Judge the tokenizer's files where TRL itself sets no token."""
    if not is_grpo(training) or not model.has_tokenizer or not packages.matches("trl", ">=0.14,<0.17"):
        return
    if model.has_pad_token is False:
        yield found(
            PROBLEM,
            MESSAGE,
            where=Where(file=f"{model.folder}/tokenizer_config.json"),
            commands=("tokenizer.pad_token = tokenizer.eos_token", 'pip install "trl>=0.17"'),
            confidence=LIKELY,
            model=model.name,
            version=installed(packages, "trl"),
        )


def explain(hits: Hits) -> Finding | None:
    """Say how to set one; nothing else raises these words."""
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("tokenizer.pad_token = tokenizer.eos_token",),
        severity=ERROR,
    )
