"""Transformers refuses to read `.bin` weights with this torch.

## What it means
`torch.load` has a hole (CVE-2025-32434) that torch 2.6 closed. Newer Transformers refuse to unpickle
weights, and the optimizer state of a checkpoint, with an older torch.
## What it does to a run
Loading a model without safetensors files, or resuming, raises ValueError.
## What to do
Upgrade torch to 2.6 or newer, or use weights in the safetensors format.
## How it is found
In a log: by the exception of Transformers.
## References
https://nvd.nist.gov/vuln/detail/CVE-2025-32434
https://github.com/huggingface/transformers/blob/v4.53.2/src/transformers/utils/import_utils.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF017", name="torch-load-refused", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"ValueError: Due to a serious vulnerability issue in `torch\.load`"),)

LOG_MESSAGE = Message(
    en=Words(
        "Transformers refuses `torch.load` with a torch older than 2.6",
        "The weights (`pytorch_model.bin`) or the optimizer state of the checkpoint are pickled files, "
        "and the installed torch has a known hole in reading those.",
        "Upgrade to torch 2.6 or newer; or, for a model, use its safetensors files "
        "(`use_safetensors=True`, or a revision that has them).",
    ),
    zh=Words(
        "torch 低于 2.6 时,Transformers 拒绝使用 `torch.load`",
        "权重(`pytorch_model.bin`)或检查点的优化器状态是 pickle 文件,而已安装的 torch 在读取它们时有已知漏洞。",
        "升级到 torch 2.6 或更新版本;对于模型,也可使用其 safetensors 文件(`use_safetensors=True`,或含有该格式的版本)。",
    ),
)
