"""A download through Xet broke off.

## What it means
The Hub stores large files in Xet; its client `hf_xet` reads them in pieces from other hosts
(`transfer.xethub.hf.co`, `cas-server.xethub.hf.co`). A firewall that lets only huggingface.co through, a
proxy or a cut connection ends the download with an error of the Rust side.
## What it does to a run
Loading raises RuntimeError about data processing or the CAS service, whatever library asked for the model.
## What to do
Try again, or switch Xet off, or download beforehand.
## How it is found
In a log: by the words of the Xet client.
## References
https://huggingface.co/docs/hub/xet/using-xet-storage
https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables#hfhubdisablexet
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="HUB011", name="xet-download-failed", severity=ERROR, since="0.1")

SIGNATURES = (
    # an error of the own disk is told in the same words
    Signature(
        r"Data processing error: (?:CAS service error|File reconstruction error)"
        r"(?![^\n]{0,300}(?:\(os error (?:13|28|30|122)\)|No space left|Permission denied|Read-only file system))"
    ),
    Signature(r"RuntimeError: (?:Data processing error|Internal error)[^\n]{0,120}(?:xethub|CAS )"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the download of a model from the Hugging Face Hub (Xet) was cut off",
        "The connection to the storage hosts of Xet was reset, timed out or is blocked. What the "
        "traceback names above it, a loader of vLLM or Unsloth, only asked for the file.",
        "Run it again (what is complete stays in the cache); switch Xet off with `export "
        "HF_HUB_DISABLE_XET=1`; download beforehand with `hf download REPO` and use the local folder; or "
        "let `*.xethub.hf.co` through the firewall or proxy.",
    ),
    zh=Words(
        "从 Hugging Face Hub(Xet)下载模型时连接中断",
        "到 Xet 存储主机的连接被重置、超时或被阻断。traceback 中位于其上的 vLLM 或 Unsloth 加载器只是请求了该文件。",
        "重新运行(已完成的部分保留在缓存中);用 `export HF_HUB_DISABLE_XET=1` 关闭 Xet;事先用 `hf "
        "download REPO` 下载并使用本地目录;或在防火墙或代理中放行 `*.xethub.hf.co`。",
    ),
)

LOG_COMMANDS = ("export HF_HUB_DISABLE_XET=1",)
