"""A checkpoint lies in pieces by rank, as veRL and Trinity-RFT save it.

## What it means
With FSDP each rank saves its piece of every tensor: `actor/model_world_size_8_rank_0.pt` and so on. `huggingface/`
beside them holds configuration and tokenizer alone, unless whole weights were asked for.
## What it does to a run
Nothing to the run itself, which resumes from it. `from_pretrained`, vLLM and evaluation find no weights there: "Error
no file named model.safetensors", or random weights where only the configuration is loaded.
## What to do
Join the pieces with veRL's merger (0.4.1 and newer; older ones have `scripts/model_merger.py` in their repository), or
with `trinity convert` (Trinity-RFT 0.5 and newer). Let veRL save whole weights too:
`actor_rollout_ref.actor.checkpoint.save_contents=[model,optimizer,extra,hf_model]`.
## How it is found
By the names of the files.
In a log: by the exception of the merger where `fsdp_config.json` is missing.
## References
https://verl.readthedocs.io/en/latest/advance/checkpoint.html
https://github.com/verl-project/verl/blob/v0.4.1/verl/model_merger/__main__.py
https://github.com/verl-project/verl/blob/v0.4.0/scripts/model_merger.py
https://github.com/verl-project/verl/issues/1438
https://github.com/verl-project/verl/issues/2252
https://github.com/modelscope/Trinity-RFT/blob/main/trinity/manager/checkpoint_converter.py
https://pypi.org/project/trinity-rft/0.5.0/
"""

from __future__ import annotations

import json
import shlex
from pathlib import PurePath

from doctor.checks.checkpoint._pieces import evidence, merged, newest, quoted, severity, shown
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Where, Words, found
from doctor.core.problem import INFO, Problem
from doctor.core.signature import Signature
from doctor.facts.checkpoints import RANK_SHARDS, Checkpoint, Checkpoints

PROBLEM = Problem(id="CKP017", name="checkpoint-in-rank-shards", severity=INFO, since="0.1")

SIGNATURES = (Signature(r"FileNotFoundError: Config file (?P<path>[^\s]{1,300})/fsdp_config\.json does not exist\."),)

LOG_MESSAGE = Message(
    en=Words(
        "veRL's merger finds no `fsdp_config.json` beside the shards",
        "Releases before that file save shards without it, and the merger reads the number of ranks from there.",
        "Write it with the number of ranks that stands in the names of the shards "
        "(`model_world_size_8_rank_0.pt`: 8), then start the merger again.",
    ),
    zh=Words(
        "veRL 的合并工具在分片旁找不到 `fsdp_config.json`",
        "较早的版本保存分片时没有写出该文件,而合并工具要从中读取 rank 数。",
        "按分片文件名中的 rank 数写出该文件(`model_world_size_8_rank_0.pt` 即为 8),然后重新运行合并工具。",
    ),
)

LOG_COMMANDS = ('echo \'{{"FSDP_version": 1, "world_size": 8}}\' > {path}/fsdp_config.json',)

MESSAGE = Message(
    en=Words(
        "`{folder}` holds {count} FSDP shards and no weights that others can load",
        "`from_pretrained`, vLLM and evaluations look for whole weights; these files hold one rank's piece of every "
        "tensor each.",
        "Join them, and load the result.",
    ),
    zh=Words(
        "`{folder}` 中有 {count} 个 FSDP 分片,没有其他程序能加载的权重",
        "`from_pretrained`、vLLM 和评测都需要完整权重;这些文件各自只含每个张量中属于一个 rank 的部分。",
        "先合并,再加载合并结果。",
    ),
)


@check(PROBLEM)
def rank_shards_alone(checkpoints: Checkpoints) -> Judgement:
    """Speak of the newest of each run."""
    for each, more in newest(checkpoints, RANK_SHARDS):
        yield found(
            PROBLEM,
            MESSAGE,
            severity=severity(checkpoints),
            where=Where(file=each.folder, step=each.step),
            commands=_commands(each),
            evidence=evidence(each, f"model_world_size_{each.world_size}_rank_0.pt", more),
            folder=shown(each.folder),
            count=each.files,
        )


def _commands(each: Checkpoint) -> tuple[str, ...]:
    folder = PurePath(each.folder)
    if each.trinity:
        return (f"trinity convert --checkpoint-dir {quoted(str(folder.parent))}",)
    config = json.dumps({"FSDP_version": 1, "world_size": each.world_size})
    describe = f"echo {shlex.quote(config)} > {quoted(str(folder), 'fsdp_config.json')}"
    merge = f"python -m verl.model_merger merge --backend fsdp --local_dir {quoted(str(folder))} --target_dir "
    return (*(() if each.described else (describe,)), merge + merged(each))
