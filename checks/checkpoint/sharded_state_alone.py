"""A checkpoint lies in shards of FSDP's state dict, as Accelerate saves it.

## What it means
With `fsdp_state_dict_type: SHARDED_STATE_DICT` (the default of FSDP2) the Trainer saves `pytorch_model_fsdp_0/` with
one `.distcp` a rank, and no whole weights.
## What it does to a run
Nothing to the run itself, which resumes from it. `from_pretrained` and vLLM find no weights there.
## What to do
Join the shards with `accelerate merge-weights` (torch 2.3 and newer). To have whole weights at the end of the training,
set `fsdp_state_dict_type: FULL_STATE_DICT`, or call
`trainer.accelerator.state.fsdp_plugin.set_state_dict_type("FULL_STATE_DICT")` before `trainer.save_model()`.
## How it is found
By the names of the files.
In a log: by Accelerate's exception.
## References
https://huggingface.co/docs/accelerate/usage_guides/fsdp
https://huggingface.co/docs/accelerate/v1.15.0/package_reference/fsdp
https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/utils/fsdp_utils.py
https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/utils/dataclasses.py
https://github.com/huggingface/accelerate/pull/2772
"""

from __future__ import annotations

from doctor.checks.checkpoint._pieces import evidence, merged, newest, quoted, severity, shown
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Where, Words, found
from doctor.core.problem import INFO, Problem
from doctor.core.signature import Signature
from doctor.facts.checkpoints import SHARDED_STATE, Checkpoints

PROBLEM = Problem(id="CKP015", name="checkpoint-in-sharded-state", severity=INFO, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: Tried to load from (?P<path>[^\s]{1,300}) but couldn't find a valid metadata file\."),
)

LOG_MESSAGE = Message(
    en=Words(
        "`accelerate merge-weights` finds no shards at `{path}`",
        "It wants the folder with the shards themselves, which is named `pytorch_model_fsdp_0`; what was given does "
        "not exist.",
        "Give the folder `pytorch_model_fsdp_0` within the checkpoint.",
    ),
    zh=Words(
        "`accelerate merge-weights` 在 `{path}` 处找不到分片",
        "它需要的是分片所在的目录,名为 `pytorch_model_fsdp_0`,而所给的目录不存在。",
        "请给出检查点中的 `pytorch_model_fsdp_0` 目录。",
    ),
)

LOG_COMMANDS = ("accelerate merge-weights CHECKPOINT/pytorch_model_fsdp_0 CHECKPOINT-merged",)

MESSAGE = Message(
    en=Words(
        "`{folder}` holds {count} FSDP shards and no weights that others can load",
        "`from_pretrained`, vLLM and evaluations look for whole weights; these files hold one rank's piece of every "
        "tensor each.",
        "Join them, copy configuration and tokenizer beside the result, and load that.",
    ),
    zh=Words(
        "`{folder}` 中有 {count} 个 FSDP 分片,没有其他程序能加载的权重",
        "`from_pretrained`、vLLM 和评测都需要完整权重;这些文件各自只含每个张量中属于一个 rank 的部分。",
        "合并分片,把配置和分词器复制到结果旁,再加载结果。",
    ),
)


@check(PROBLEM)
def sharded_state_alone(checkpoints: Checkpoints) -> Judgement:
    """Speak of the newest of each run."""
    for each, more in newest(checkpoints, SHARDED_STATE):
        yield found(
            PROBLEM,
            MESSAGE,
            severity=severity(checkpoints),
            where=Where(file=each.folder, step=each.step),
            commands=(
                f"accelerate merge-weights {quoted(each.folder, 'pytorch_model_fsdp_0')} {merged(each)}",
                f"cp {quoted(each.folder)}/*.json {merged(each)}/",
            ),
            evidence=evidence(each, "pytorch_model_fsdp_0/__0_0.distcp", more),
            folder=shown(each.folder),
            count=each.files,
        )
