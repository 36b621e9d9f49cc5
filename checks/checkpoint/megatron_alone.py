"""A checkpoint lies in Megatron's distributed format, as veRL saves it.

## What it means
With Megatron, veRL saves `dist_ckpt/__0_0.distcp` and so on; `huggingface/` beside it holds configuration and tokenizer
alone, unless whole weights were asked for.
## What it does to a run
Nothing to the run itself, which resumes from it. `from_pretrained`, vLLM and evaluation find no weights there.
## What to do
Join the pieces with veRL's merger, on a machine with Megatron-Core, or with `trinity convert` for Trinity-RFT.
## How it is found
By the names of the files.
## References
https://verl.readthedocs.io/en/latest/advance/checkpoint.html
https://github.com/volcengine/verl/blob/main/verl/utils/checkpoint/megatron_checkpoint_manager.py
"""

from __future__ import annotations

from pathlib import PurePath

from doctor.checks.checkpoint._pieces import evidence, merged, newest, quoted, severity, shown
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Where, Words, found
from doctor.core.problem import INFO, Problem
from doctor.facts.checkpoints import MEGATRON, Checkpoints

PROBLEM = Problem(id="CKP013", name="checkpoint-in-megatron-format", severity=INFO, since="0.1")

MESSAGE = Message(
    en=Words(
        "`{folder}` holds a distributed Megatron checkpoint and no weights that others can load",
        "`from_pretrained`, vLLM and evaluations look for whole weights under the names of Transformers; this holds "
        "pieces under the names of Megatron.",
        "Convert it where Megatron-Core is installed, and load the result.",
    ),
    zh=Words(
        "`{folder}` 中是 Megatron 分布式检查点,没有其他程序能加载的权重",
        "`from_pretrained`、vLLM 和评测需要以 Transformers 命名的完整权重;这里只有以 Megatron 命名的分片。",
        "在装有 Megatron-Core 的环境中转换,再加载转换结果。",
    ),
)


@check(PROBLEM)
def megatron_alone(checkpoints: Checkpoints) -> Judgement:
    """Speak of the newest of each run."""
    for each, more in newest(checkpoints, MEGATRON):
        merge = (
            f"python -m verl.model_merger merge --backend megatron --local_dir {quoted(each.folder)} "
            f"--target_dir {merged(each)}"
        )
        convert = f"trinity convert --checkpoint-dir {quoted(str(PurePath(each.folder).parent))}"
        yield found(
            PROBLEM,
            MESSAGE,
            severity=severity(checkpoints),
            where=Where(file=each.folder, step=each.step),
            commands=(convert if each.trinity else merge,),
            evidence=evidence(each, "dist_ckpt/__0_0.distcp", more),
            folder=shown(each.folder),
        )
