"""Files of the model's weights are missing.

## What it means
The index of the weights (`model.safetensors.index.json`) names files that are not in the folder: a copy or a download
was cut off.
## What it does to a run
Loading ends with `does not appear to have a file named` or `No such file or directory`, after the other files were
read.
## What to do
Fetch the missing files. In the hub's own cache a new download completes them.
## How it is found
The index against the files of the folder; a folder in the cache only where downloads are switched off.
In a log: by the exception of huggingface_hub or Transformers.
## References
https://huggingface.co/docs/transformers/big_models#sharded-checkpoints
https://huggingface.co/docs/huggingface_hub/guides/cli#hf-download
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.checkpoints import WEIGHTS, Checkpoints
from doctor.facts.hub import Hub
from doctor.facts.model import Model

PROBLEM = Problem(id="HUB008", name="model-weights-missing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"OSError: (?P<model>[^\s]{1,300}) does not appear to have (?:a file named|files named)"
        r" (?P<file>[\w\-]{1,60}(?:\.[\w\-]{1,40}){0,4})",
    ),
    Signature(
        r"OSError: Error no file named (?P<file>[\w.\-]{1,80})[^\n]{0,200} found in directory"
        r" (?P<model>[^\s]{1,300})",
    ),
    # vLLM and SGLang
    Signature(r"(?:Cannot find any|No) (?P<file>model weights) (?:with|found in:) `(?P<model>[^`\n]{1,300})`"),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{model}` has no file `{file}`",
        "The folder or repository is not a whole model: a copy or download was cut off, a checkpoint was "
        "saved in shards (FSDP, ZeRO, veRL) and never merged, only an adapter was saved, or the name is "
        "that of a GGUF or dataset repository.",
        "List it with `ls -l`. Fetch what is missing with `hf download REPO --local-dir DIR`; merge "
        "shards first (ZeRO: `python zero_to_fp32.py . .`, veRL: its `model_merger`); for an adapter "
        "load the base model and then the adapter.",
    ),
    zh=Words(
        "`{model}` 中没有文件 `{file}`",
        "该目录或仓库不是完整的模型:复制或下载被中断,检查点以分片保存(FSDP、ZeRO、veRL)且从未合并,只保存"
        "了适配器,或该名称是 GGUF 或数据集仓库。",
        "用 `ls -l` 列出其内容。用 `hf download REPO --local-dir DIR` 补齐缺失的文件;先合并分片"
        "(ZeRO:`python zero_to_fp32.py . .`,veRL:其 `model_merger`);若是适配器,先加载基座模型再加载适配器"
        "。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`{model}` lacks weight files that its index names: {count}, first `{first}`",
        "The index names them and the folder does not have them: a copy or a download was cut off. Loading the model "
        "ends at the first of them.",
        "Fetch the missing files.",
    ),
    zh=Words(
        "`{model}` 缺少索引列出的 {count} 个权重文件,第一个是 `{first}`",
        "索引列出了这些文件,而目录里没有:复制或下载中断过。加载模型会在第一个缺失的文件处失败。",
        "补齐缺失的文件。",
    ),
)


@check(PROBLEM)
def weights_missing(model: Model, hub: Hub | None) -> Judgement:
    """What lies in the hub's cache is completed by itself, unless that is forbidden."""
    cached = "/snapshots/" in model.folder
    if not model.missing_weights or (cached and not (hub is not None and hub.offline)):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        count=len(model.missing_weights),
        model=model.name,
        first=model.missing_weights[0],
        where=Where(file=model.folder),
        commands=(f"HF_HUB_OFFLINE=0 hf download {model.name}",) if cached else (),
        evidence=tuple(Evidence(model.folder, f"missing: {name}") for name in model.missing_weights[:4]),
    )


@check(PROBLEM)
def checkpoint_weights_missing(checkpoints: Checkpoints) -> Judgement:
    """The same in checkpoints that were found by themselves."""
    for each in checkpoints.found:
        if each.kind == WEIGHTS and each.missing and "/snapshots/" not in each.folder:
            yield found(
                PROBLEM,
                MESSAGE,
                count=len(each.missing),
                model="/".join(each.folder.split("/")[-2:]),
                first=each.missing[0],
                where=Where(file=each.folder, step=each.step),
                evidence=tuple(Evidence(each.folder, f"missing: {name}") for name in each.missing[:4]),
            )


def explain(hits: Hits) -> Finding | None:
    """The end of a long path is enough to know it by."""
    model = "/".join((hits.get("model") or "").rstrip("./").split("/")[-2:])
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, model=model,
        file=hits.get("file"),
    )  # fmt: skip
