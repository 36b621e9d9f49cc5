"""A training that was resumed ended without a step.

## What it means
`resume_from_checkpoint` goes on at the step that the checkpoint counts. When that is the last one of
`num_train_epochs` or `max_steps`, nothing is left to do, and the trainer ends at once, without a word.
## What it does to a run
It ends well, with a loss of 0 after less than a second, and writes the old weights as its result. ms-swift asks for
the last checkpoint of the run, which has none, and fails.
## What to do
Raise the number of epochs or steps; or start from the weights alone.
## How it is found
In a log: by the Trainer's last line, less than a tenth of a second, a loss of exactly 0 and an epoch above it; or by
ms-swift's AttributeError.
## References
https://github.com/huggingface/transformers/blob/v4.57.0/src/transformers/trainer.py
https://github.com/modelscope/ms-swift/issues/2956
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import WARNING, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="CKP029", name="nothing-left-to-train", severity=WARNING, since="0.1")

_REMEDY = (
    "Raise `num_train_epochs` (or `max_steps`) above what the checkpoint reached: `global_step` and `epoch` in its "
    "trainer_state.json. To train on from its weights with new data, give the checkpoint as the model and no "
    "`resume_from_checkpoint` (ms-swift: `--resume_only_model true`, LoRA: `--adapters`). If it was not to resume, "
    "choose an `output_dir` without checkpoints."
)
_REMEDY_ZH = (
    "把 `num_train_epochs`(或 `max_steps`)提高到检查点已达到的数值以上:见其 trainer_state.json 中的 `global_step` 与 "
    "`epoch`。若要用新数据在其权重上继续训练,把检查点作为模型传入,不要设 `resume_from_checkpoint`(ms-swift:"
    "`--resume_only_model true`;LoRA:`--adapters`)。若本不想恢复,选择不含检查点的 `output_dir`。"
)

CASES = (
    (
        Signature(
            r"'train_runtime': '?(?:0\.0\d{0,5}|\d\.\d{0,4}e-\d\d)'?, 'train_samples_per_second': [^\s,]{1,24}, "
            r"'train_steps_per_second': [^\s,]{1,24}, (?:'total_flos': [^\s,]{1,24}, )?'train_loss': '?0(?:\.0)?'?, "
            r"'epoch': '?(?!0(?:\.0{1,6})?'?[,}])\d",
            kind="warning",
        ),
        Message(
            en=Words(
                "the training ended without a step: a loss of 0 in less than a second",
                "The Trainer found no step left to do: it resumed from a checkpoint that had reached "
                "`num_train_epochs` or `max_steps` already, perhaps one that it found by itself in `output_dir`. What "
                "was saved afterwards are the weights from before.",
                _REMEDY,
            ),
            zh=Words(
                "训练没有执行任何一步就结束:损失为 0,用时不到一秒",
                "Trainer 发现没有剩余的步数:它从已达到 `num_train_epochs` 或 `max_steps` 的检查点恢复,该检查点可能是在 "
                "`output_dir` 中自动找到的。之后保存的是原来的权重。",
                _REMEDY_ZH,
            ),
        ),
        LIKELY,
    ),
    (
        Signature(r"^AttributeError: 'TrainerState' object has no attribute 'last_model_checkpoint'"),
        Message(
            en=Words(
                "ms-swift looks for the last checkpoint of a run that wrote none",
                "The attribute is made when a checkpoint is saved. A run without it made no step: it resumed from a "
                "checkpoint that had reached `num_train_epochs` already, or the dataset is smaller than one batch of "
                "all GPUs and accumulation steps.",
                _REMEDY,
            ),
            zh=Words(
                "ms-swift 在查找本次运行的最后一个检查点,而本次运行没有写出任何检查点",
                "该属性在保存检查点时创建。没有它说明没有执行任何一步:从已达到 `num_train_epochs` 的检查点恢复,或数据"
                "集不足所有 GPU 与累积步数的一个批次。",
                _REMEDY_ZH,
            ),
        ),
        LIKELY,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)
MESSAGES = tuple(message for _, message, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_signature(PROBLEM, CASES, hits)
