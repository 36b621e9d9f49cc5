"""A checkpoint lies in DeepSpeed's ZeRO partitions.

## What it means
DeepSpeed saves the weights in pieces by rank under `global_step*/`. Whole weights lie beside them only where they were
gathered (`stage3_gather_16bit_weights_on_model_save`, or ZeRO below 3 through Transformers).
## What it does to a run
Nothing to the run itself, which resumes from it with the same number of ranks. `from_pretrained` and vLLM find no
weights there.
## What to do
Run the `zero_to_fp32.py` that DeepSpeed put beside the partitions; it needs no GPU, and memory for the weights in fp32.
Before DeepSpeed 0.15.3 it writes one file and knows no `--safe_serialization`.
## How it is found
By the names of the files; whether the script wants a folder or a file to write to is read from the script.
In a log: by the exceptions of that script.
## References
https://www.deepspeed.ai/tutorials/zero/#extracting-weights
https://huggingface.co/docs/transformers/deepspeed#save-model-weights
https://github.com/deepspeedai/DeepSpeed/blob/v0.15.2/deepspeed/utils/zero_to_fp32.py
https://github.com/deepspeedai/DeepSpeed/blob/v0.15.3/deepspeed/utils/zero_to_fp32.py
https://github.com/hiyouga/LlamaFactory/issues/477
"""

from __future__ import annotations

from doctor.checks.checkpoint._pieces import evidence, merged, newest, quoted, severity, shown
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Where, Words, found
from doctor.core.problem import INFO, Problem
from doctor.core.signature import Signature
from doctor.facts.checkpoints import ZERO, Checkpoint, Checkpoints

PROBLEM = Problem(id="CKP014", name="checkpoint-in-zero-partitions", severity=INFO, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: Unable to find 'latest' file at (?P<path>[^\s]{1,300})"),
    Signature(
        r"FileNotFoundError: can't find \*_(?:optim|model)_states\.pt files in directory '(?P<path>[^'\n]{1,300})'"
    ),
    Signature(r"FileNotFoundError: can't find model states file at '(?P<path>[^'\n]{1,300})'"),
)

LOG_MESSAGE = Message(
    en=Words(
        "`zero_to_fp32.py` finds no ZeRO partitions where it was pointed",
        "It wants the folder that holds `latest` and the folder `global_step*`, not that folder itself; a run without "
        "ZeRO (stage 0) saves no partitions at all.",
        "Give it the folder above `global_step*`, and the tag where there is no `latest`; of a run with stage 0 load "
        "`mp_rank_00_model_states.pt` itself. A script of DeepSpeed before 0.15.3 wants the name of a file in place of "
        "the second folder, and no `--safe_serialization`.",
    ),
    zh=Words(
        "`zero_to_fp32.py` 在所给位置找不到 ZeRO 分片",
        "它需要的是包含 `latest` 和 `global_step*` 的目录,而不是 `global_step*` 本身;没有使用 ZeRO(stage 0)的训练根本"
        "不会保存分片。",
        "给出 `global_step*` 的上一级目录,没有 `latest` 时再给出 tag;stage 0 的训练请直接加载 "
        "`mp_rank_00_model_states.pt`。0.15.3 之前的 DeepSpeed 脚本要求用文件名代替第二个目录,且没有 "
        "`--safe_serialization`。",
    ),
)

LOG_COMMANDS = ("python zero_to_fp32.py CHECKPOINT CHECKPOINT-merged --safe_serialization -t global_step100",)

MESSAGE = Message(
    en=Words(
        "`{folder}` holds {count} ZeRO partitions and no weights that others can load",
        "`from_pretrained`, vLLM and evaluations look for whole weights; these files hold one rank's part of the fp32 "
        "weights and of the optimizer each.",
        "Join them with DeepSpeed's script, copy configuration and tokenizer beside the result, and load that.",
    ),
    zh=Words(
        "`{folder}` 中有 {count} 个 ZeRO 分片,没有其他程序能加载的权重",
        "`from_pretrained`、vLLM 和评测都需要完整权重;这些文件各自只含一个 rank 的 fp32 权重和优化器状态。",
        "用 DeepSpeed 的脚本合并,把配置和分词器复制到结果旁,再加载结果。",
    ),
)


@check(PROBLEM)
def zero_partitions_alone(checkpoints: Checkpoints) -> Judgement:
    """Speak of the newest of each run."""
    for each, more in newest(checkpoints, ZERO):
        yield found(
            PROBLEM,
            MESSAGE,
            severity=severity(checkpoints),
            where=Where(file=each.folder, step=each.step),
            commands=(_convert(each), f"cp {quoted(each.folder)}/*.json {merged(each)}/"),
            evidence=evidence(each, f"{each.tag}/zero_pp_rank_0_mp_rank_00_optim_states.pt", more),
            folder=shown(each.folder),
            count=each.files,
        )


def _convert(each: Checkpoint) -> str:
    """The script's own command; before DeepSpeed 0.15.3 it writes one file and cannot write safetensors."""
    tag = "" if each.is_latest else f" -t {quoted(each.tag or '')}"
    program = quoted(each.folder, "zero_to_fp32.py") if each.converter else "-m deepspeed.utils.zero_to_fp32"
    convert = f"python {program} {quoted(each.folder)} {merged(each)}"
    if each.converter == "output_file":
        return f"mkdir -p {merged(each)} && {convert}/pytorch_model.bin{tag}"
    return convert + ("" if each.converter and not each.safe else " --safe_serialization") + tag
