"""A package beside SGLang is older than SGLang asks for.

## What it means
SGLang compares the versions of its kernels (`sgl-kernel`) and of FlashInfer with the least that it needs when a server
or engine starts. An upgrade of SGLang alone, or with `--no-deps`, leaves them behind.
## What it does to a run
The server or engine ends before the model is loaded.
## What to do
Install the version that is named.
## How it is found
In a log: by SGLang's check, with the package and both versions.
## References
https://github.com/sgl-project/sglang/blob/v0.5.4/python/sglang/srt/utils/common.py
https://github.com/sgl-project/sglang/blob/v0.5.4/python/sglang/srt/entrypoints/engine.py
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL087", name="sglang-neighbour-too-old", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?P<package>[\w-]{2,40}) is installed with version (?P<got>[\w.+]{1,40}), which is less than the minimum "
        r"required version (?P<least>[\w.+]{1,40})",
    ),
    Signature(r"(?P<package>[\w-]{2,40}) with minimum required version (?P<least>[\w.+]{1,40}) is not installed"),
)

LOG_MESSAGE = Message(
    en=Words(
        "SGLang needs `{package}` {least} or newer, and {got}",
        "It was upgraded without its neighbours, or another package brought an older one back. SGLang looks before it "
        "loads the model, because kernels of another time fail later in ways that are hard to read.",
        "Install it in the same environment: `{command}`. `pip check` shows what else does not fit; let pip choose all "
        "at once (`pip install -U sglang`) rather than with `--no-deps`.",
    ),
    zh=Words(
        "SGLang 需要 `{package}` {least} 或更新,而{got_zh}",
        "升级 SGLang 时没有同时升级相邻的包,或其他包又装回了旧版。SGLang 在加载模型之前检查,因为版本不符的内核会在之后"
        "以难以理解的方式失败。",
        "在同一环境中安装:`{command}`。`pip check` 会列出其他不符之处;让 pip 一次选好全部(`pip install -U sglang`),"
        "不要用 `--no-deps`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """The package, the version it has and the one it needs."""
    package, least, got = hits.get("package") or "", (hits.get("least") or "").rstrip("."), hits.get("got")
    command = f'pip install -U "{package.replace("_", "-")}>={least}"'
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), package=package, least=least,
        got=f"{got} is installed" if got else "none is installed", got_zh=f"所装为 {got}" if got else "没有安装",
        command=command, commands=(command,),
    )  # fmt: skip
