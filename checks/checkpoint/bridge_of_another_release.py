"""A converted checkpoint describes its model with fields that the installed Megatron-Bridge does not have.

## What it means
Megatron-Bridge writes the whole configuration of the model into `run_config.yaml` beside the converted weights, and
builds the model from it when they are loaded again. Its providers inherit from Megatron-Core, whose fields come and go.
## What it does to a run
Every worker ends while it builds the model.
## What to do
Convert again with the installed release.
## How it is found
In a log: by the provider that gets a keyword it does not know.
## References
https://github.com/NVIDIA-NeMo/RL/issues/1118
https://github.com/NVIDIA-NeMo/RL/issues/1228
https://github.com/NVIDIA-NeMo/RL/blob/main/nemo_rl/models/policy/utils.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="CKP030", name="bridge-of-another-release", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"TypeError: (?P<provider>\w{3,60}Provider\w{0,30})\.__init__\(\) got an unexpected keyword argument "
        r"'(?P<field>\w{1,80})'"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{provider}` of Megatron-Bridge has no field `{field}`",
        "The description of a converted model (`run_config.yaml`) was written by another release of Megatron-Bridge or "
        "Megatron-Core than the one that reads it: a conversion that was cached before an update, or a checkpoint of "
        "another container. The same comes where the two packages themselves do not belong together.",
        "Delete the cached conversion and let it be made again: NeMo-RL keeps it in `$NRL_MEGATRON_CHECKPOINT_DIR`, "
        "else in `$HF_HOME/nemo_rl` (or `~/.cache/huggingface/nemo_rl`). A checkpoint of your own: load it with the "
        "release that wrote it, or take the field out of a copy of `run_config.yaml`. With a fresh conversion check "
        "the submodules (`git submodule update --init --recursive`).",
    ),
    zh=Words(
        "Megatron-Bridge 的 `{provider}` 没有字段 `{field}`",
        "转换后模型的描述(`run_config.yaml`)由另一版本的 Megatron-Bridge 或 Megatron-Core 写出:更新之前缓存的转换结果,"
        "或来自其他容器的检查点。这两个包本身不配套时也会如此。",
        "删除缓存的转换结果并重新生成:NeMo-RL 存放在 `$NRL_MEGATRON_CHECKPOINT_DIR`,否则在 `$HF_HOME/nemo_rl`(或 "
        "`~/.cache/huggingface/nemo_rl`)。自己的检查点:用写出它的版本加载,或在 `run_config.yaml` 的副本中去掉该字段。"
        "若是新转换的,检查子模块(`git submodule update --init --recursive`)。",
    ),
)

LOG_CONFIDENCE = LIKELY
