"""The folder that is given as the reward model has no value head.

## What it means
A reward model of LLaMA-Factory is a language model and a small head, kept in a file of its own beside the weights
(`value_head.safetensors` or `value_head.bin`). The folder is of another stage (SFT, a base model), of a checkpoint
that DeepSpeed has not gathered, or was trained with a release that kept the head elsewhere.
## What it does to a run
PPO ends before the first step with "Reward model is not correctly loaded".
## What to do
Give the folder of a training with `stage: rm`, made by this release.
## How it is found
In a log: by the assertion, and by the warning of the loader.
## References
https://github.com/hiyouga/LLaMA-Factory/blob/main/src/llamafactory/train/trainer_utils.py
https://github.com/hiyouga/LlamaFactory/issues/1411
https://github.com/hiyouga/LlamaFactory/issues/1024
"""

from __future__ import annotations

import re

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="RLX030", name="reward-head-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"AssertionError: Reward model is not correctly loaded"),
    Signature(
        r"Provided path \((?P<folder>[^)\n]{1,300})\) does not contain value ?head weights", kind="sign",
    ),
)  # fmt: skip

LOG_MESSAGE = Message(
    en=Words(
        "the reward model {folder} has no value head",
        "Its head lies in `value_head.safetensors` or `value_head.bin` (for a time in 2023 in `pytorch_model.bin`)"
        ", which a folder of another stage, a base model, a merged export or a checkpoint of an older "
        "release does not have.",
        "List it: `ls {path}`. Give the folder that training with `stage: rm` wrote (its output folder or "
        "`checkpoint-N`), with `reward_model_type: lora` for an adapter and `full` for a whole model. If the head is "
        "not there, train the reward model again with this release; a reward model of another framework goes behind "
        "a server: `reward_model_type: api`.",
    ),
    zh=Words(
        "奖励模型 {folder} 没有 value head",
        "其 head 位于 `value_head.safetensors` 或 `value_head.bin`(2023 年的一段时间在 `pytorch_model.bin` 中);其他阶段"
        "的目录、基座模型、合并导出的模型或旧版本的检查点没有该文件。",
        "查看:`ls {path}`。指定由 `stage: rm` 训练写出的目录(输出目录或 `checkpoint-N`),适配器用 `reward_model_type: "
        "lora`,完整模型用 `full`。如果没有 head,请用该版本重新训练奖励模型;其他框架的奖励模型可放在服务器后面"
        ":`reward_model_type: api`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Name the folder that the loader warned of."""
    folder = hits.get("folder") or ""
    path = folder if re.fullmatch(r"[\w./\-]{1,200}", folder) else "REWARD_MODEL"
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), folder=f"`{path}`", path=path,
    )  # fmt: skip
