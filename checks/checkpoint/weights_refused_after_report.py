"""Transformers refuses weights after it printed its report of what it loaded.

## What it means
Since release 5 mismatches are listed in a table (LOAD REPORT); the exception itself only points to it. Safetensors
wants every tensor contiguous.
## What it does to a run
RuntimeError or ValueError at loading or saving.
## What to do
What the finding says for the message.
## How it is found
In a log: by the message that the library raises.
## References
https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/utils/loading_report.py
https://huggingface.co/docs/transformers/main_classes/model
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="CKP024", name="weights-refused-after-report", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"RuntimeError: You set `ignore_mismatched_sizes` to `False`, thus raising an error\. For details "
            r"look at the above report"
        ),
        Message(
            en=Words(
                "weights of the checkpoint have another shape than the model's",
                "The rows MISMATCH of the LOAD REPORT above name them with both shapes: another `vocab_size`, "
                "number of labels or heads, a configuration that was changed, or the class of another model.",
                "Load with the `config.json` of the checkpoint and the class that it names. If only a head that "
                "is trained anew differs (`num_labels`), pass `ignore_mismatched_sizes=True`; after added tokens "
                "load first, then `resize_token_embeddings`.",
            ),
            zh=Words(
                "检查点中的权重与模型形状不同",
                "上方 LOAD REPORT 中 MISMATCH 行列出了它们与两种形状:`vocab_size`、标签数或头数不同,配置被改动,或"
                "模型类不同。",
                "用检查点的 `config.json` 及其指定的类加载。若仅有将重新训练的头不同(`num_labels`),传入 "
                "`ignore_mismatched_sizes=True`;添加过 token 时先加载,再 `resize_token_embeddings`。",
            ),
        ),
    ),
    (
        r"RuntimeError: We encountered some issues during automatic conversion of the weights\.",
        Message(
            en=Words(
                "Transformers could not convert the weights of the checkpoint to its own layout",
                "Release 5 renames, merges and quantizes weights while it loads them. The rows CONVERSION of the "
                "LOAD REPORT above name those that failed: missing expert weights, no memory, or a quantization "
                "that does not go with the conversion.",
                'Read these rows: with "out of memory" load with fewer processes at once or in bf16; otherwise '
                "`pip install -U transformers`, or the release that wrote the checkpoint (`transformers_version` "
                "in its `config.json`), and without `quantization_config`.",
            ),
            zh=Words(
                "Transformers 无法把检查点的权重转换为自己的布局",
                "第 5 版在加载时会重命名、合并并量化权重。上方 LOAD REPORT 中 CONVERSION 行列出失败的权重:缺少专"
                "家权重、内存不足,或与转换不相容的量化。",
                "查看这些行:若为内存不足,减少同时加载的进程或用 bf16;否则 `pip install -U transformers`,或使用写"
                "出检查点的版本(其 `config.json` 中的 `transformers_version`),且不用 `quantization_config`。",
            ),
        ),
    ),
    (
        (
            r"ValueError: You are trying to save a non contiguous tensor: `(?P<weight>[\w.\-]{1,200})` which "
            r"is not allowed"
        ),
        Message(
            en=Words(
                "`{weight}` does not lie in one piece in memory and cannot be saved as safetensors",
                "A transpose, a slice or a merge of own code (or ZeRO-3 gathering) left a view as the weight.",
                "Before saving: `for p in model.parameters(): p.data = p.data.contiguous()`; with DeepSpeed let "
                "`trainer.save_model()` gather the weights; `save_safetensors=False` is the last resort "
                "(Transformers before 5).",
            ),
            zh=Words(
                "`{weight}` 在内存中不连续,无法保存为 safetensors",
                "自己代码中的转置、切片或合并(或 ZeRO-3 收集)使权重成为视图。",
                "保存前:`for p in model.parameters(): p.data = p.data.contiguous()`;使用 DeepSpeed 时由 "
                "`trainer.save_model()` 收集权重;最后才用 `save_safetensors=False`(Transformers 5 之前)。",
            ),
        ),
    ),
)

SIGNATURES = (
    Signature(CASES[0][0], symptom_of=("CKP011",)),
    Signature(CASES[1][0]),
    Signature(CASES[2][0]),
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
