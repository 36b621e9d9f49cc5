"""NeMo-RL resumes from a step folder that does not hold all it needs, or finds no converted model on this node.

## What it means
NeMo-RL writes a checkpoint into `tmp_step_N`, renames it to `step_N` when it is whole, and resumes by itself from the
highest `step_N` of `checkpoint_dir`. Every node writes its part, and reads it again, under the same path. The Megatron
backend also converts the Hugging Face model once, on rank 0, into a cache folder that all nodes read.
## What it does to a run
The workers raise FileNotFoundError while the policy is set up; Ray reports actors that died in their creation.
## What to do
Put these folders on a disk that all nodes mount under the same path.
## How it is found
In a log: by NeMo-RL's own messages.
## References
https://github.com/NVIDIA-NeMo/RL/blob/main/nemo_rl/utils/checkpoint.py
https://github.com/NVIDIA-NeMo/RL/blob/main/docs/design-docs/training-backends.md
https://github.com/NVIDIA-NeMo/RL/issues/1624
https://github.com/NVIDIA-NeMo/RL/issues/1770
https://github.com/NVIDIA-NeMo/RL/issues/345
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="CKP028", name="nemo-rl-step-incomplete", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"FileNotFoundError: (?:Failed to load (?:model|optimizer) from '|\[Errno 2\] No such file or directory: ')"
            r"(?:[^'\n]{0,200}/)?step_(?P<step>\d{1,9})/"
            r"(?:policy/(?:weights|optimizer)/|training_info\.json|train_dataloader\.pt)"
        ),
        Message(
            en=Words(
                "NeMo-RL's checkpoint of step {step} does not hold all that resuming needs on this node",
                "It resumes by itself from the highest `step_N` in `checkpointing.checkpoint_dir`. On several nodes "
                "without a common disk each wrote its own part, and only one renamed `tmp_step_N`; or the save was cut "
                "off or the disk full; or the checkpoint was written by another backend (DTensor, Megatron) or "
                "release, which lay their files out differently.",
                "`ls` that folder on every node: with parts apart, point `checkpointing.checkpoint_dir` at a shared "
                "disk and copy the parts together. Otherwise move the broken `step_{step}` away, so that the one "
                "before is taken, or give another `checkpoint_dir` to begin anew. Keep the backend with which it was "
                "saved.",
            ),
            zh=Words(
                "NeMo-RL 第 {step} 步的检查点在该节点上缺少恢复所需的内容",
                "它会自动从 `checkpointing.checkpoint_dir` 中编号最大的 `step_N` 恢复。多节点没有共享磁盘时,各节点只写"
                "了自己的部分,且只有一个节点把 `tmp_step_N` 改名;或保存被中断、磁盘已满;或检查点由另一后端(DTensor、"
                "Megatron)或另一版本写出,文件布局不同。",
                "在每个节点上 `ls` 该目录:若各部分分散,把 `checkpointing.checkpoint_dir` 指向共享磁盘并把各部分合到一"
                "起。否则移走损坏的 `step_{step}`,使其采用上一个,或换一个 `checkpoint_dir` 重新开始。保持与保存时相同的"
                "后端。",
            ),
        ),
    ),
    (
        r"FileNotFoundError: Pretrained run config not found at \S{1,300} on rank=(?P<rank>\d{1,6})\.",
        Message(
            en=Words(
                "rank {rank} does not see the Megatron checkpoint that rank 0 made of the model",
                "NeMo-RL converts the model once, on the first node, into `NRL_MEGATRON_CHECKPOINT_DIR` or "
                "`$HF_HOME/nemo_rl` (`~/.cache/huggingface/nemo_rl`). That folder is a local disk of the node or the "
                "container here.",
                "`export NRL_MEGATRON_CHECKPOINT_DIR=/shared/megatron` (or `HF_HOME` on a shared disk), in the "
                "environment of every node before Ray is started, and mount it in all containers under the same path.",
            ),
            zh=Words(
                "rank {rank} 看不到 rank 0 从 Hugging Face 模型转换得到的 Megatron 检查点",
                "NeMo-RL 只在第一个节点上转换一次,写入 `NRL_MEGATRON_CHECKPOINT_DIR` 或 "
                "`$HF_HOME/nemo_rl`(`~/.cache/huggingface/nemo_rl`)。这里该目录是节点或容器的本地磁盘。",
                "在启动 Ray 之前,于每个节点的环境中 `export NRL_MEGATRON_CHECKPOINT_DIR=/shared/megatron`(或把 "
                "`HF_HOME` 放在共享磁盘上),并在所有容器中以相同路径挂载。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
