"""Liger's loss reads `lm_head.weight` of a model that keeps its output layer elsewhere.

## What it means
The fused loss of Liger multiplies hidden states by the weight of the output layer itself, and the trainer takes
that from `model.lm_head`. Models with several parts (vision, audio) keep it deeper (`thinker.lm_head`,
`language_model.lm_head`), and other families name it otherwise.
## What it does to a run
The first loss raises AttributeError; with PEFT three exceptions in a chain, of which the last names the model.
## What to do
Train without Liger's loss, or with a release that looks the layer up.
## How it is found
In a log: by the exception with a function of Liger's loss in the traceback.
## References
https://github.com/modelscope/ms-swift/issues/4398
https://github.com/modelscope/ms-swift/pull/9406
https://github.com/huggingface/trl/blob/v0.24.0/trl/trainer/grpo_trainer.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRL053", name="liger-finds-no-head", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^AttributeError: '(?P<model>\w{1,80})' object has no attribute 'lm_head'",
        frame=r":\w{0,40}liger\w{0,40}$",
    ),
    Signature(r"^AttributeError: '(?P<model>\w{1,80})' object has no attribute 'lm_head'", kind="sign"),
    Signature(r"^\s{0,20}(?:lin_weight=)?\w{1,40}\.lm_head\.weight,?$", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "Liger's loss looks for `lm_head` on `{model}`, which keeps its output layer elsewhere",
        "The fused loss takes the weight of the output layer straight from the model. Models of several parts keep it "
        "deeper (`thinker.lm_head`, `language_model.lm_head`); LoRA is not to blame, it only lengthens the chain.",
        "Turn Liger off for this model: `use_liger_kernel=False` (older TRL: `use_liger_loss=False`; ms-swift: "
        "`--use_liger_kernel false`). ms-swift 4.3 and newer looks the layer up in models of several parts.",
    ),
    zh=Words(
        "Liger 的损失在 `{model}` 上查找 `lm_head`,而该模型的输出层在别处",
        "融合损失直接从模型上读取输出层权重。由多部分组成的模型把它放在更深处(`thinker.lm_head`、"
        "`language_model.lm_head`);与 LoRA 无关,LoRA 只是让异常链更长。",
        "对该模型关闭 Liger:`use_liger_kernel=False`(旧版 TRL 为 `use_liger_loss=False`;ms-swift 为 "
        "`--use_liger_kernel false`)。ms-swift 4.3 及以上会在多部分模型中查找该层。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """The last of the chain names the model itself; without a function of Liger's nothing is said."""
    if not hits.of(0) and not (hits.of(1) and hits.of(2)):
        return None
    model = (hits.of(0) or hits.of(1))[-1].groups["model"]
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, model=model)
