"""A program for Linux is run on Windows.

## What it means
`resource`, `fcntl`, `pwd`, `grp` and `termios` are parts of Python that exist on Unix only. vLLM imports `resource`,
SGLang and verl others; none of them has a release for native Windows.
## What it does to a run
The import raises; nothing runs. No package of that name mends it.
## What to do
Run in WSL2 or on a Linux machine; for training without vLLM take the package out of the environment.
## How it is found
In a log: by the name of the module.
## References
https://docs.python.org/3/library/resource.html
https://docs.vllm.ai/en/latest/getting_started/installation/gpu/
https://github.com/unslothai/unsloth/issues/1680
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PYT029", name="posix-module-on-windows", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^(?:ModuleNotFoundError: )?No module named '_?(?P<module>resource|fcntl|pwd|grp|termios|posix)'$",
        symptom_of=("VLL",),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "Python's `{module}` does not exist here: it is part of Python on Linux and macOS only{owner}",
        "The program was started with a Python for Windows. vLLM, SGLang, verl and DeepSpeed's launcher "
        "use such modules and have no release for native Windows; TRL and Unsloth only reach them where "
        "vLLM is installed.",
        "Run it under WSL2 (`wsl --install`, then install the environment inside) or on Linux. To train on "
        "Windows without the engine: `pip uninstall vllm` and `use_vllm=False` (Unsloth: "
        "`fast_inference=False`). No `pip install {module}` helps: what goes by that name on the index is "
        "something else.",
    ),
    zh=Words(
        "此处没有 Python 的 `{module}`:它只存在于 Linux 和 macOS 的 Python 中{owner_zh}",
        "程序是用 Windows 的 Python 启动的。vLLM、SGLang、verl 以及 DeepSpeed 的启动器会使用这类模块,并且没"
        "有原生 Windows 版本;TRL 和 Unsloth 只在装有 vLLM 时才会用到它们。",
        "在 WSL2(`wsl --install`,再在其中安装环境)或 Linux 上运行。若要在 Windows 上不用引擎训练:`pip "
        "uninstall vllm` 并设 `use_vllm=False`(Unsloth:`fast_inference=False`)。`pip install {module}` 没有"
        "用:索引上同名的是别的东西。",
    ),
)


_PACKAGE = re.compile(r"[\\/](?:site|dist)-packages[\\/](?P<name>\w{1,60})[\\/]")


def explain(hits: Hits) -> Finding:
    """Name the package that asks, where the frames tell."""
    names = [match["name"] for match in map(_PACKAGE.search, hits.first.frames) if match]
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        module=hits.get("module") or "", owner=f" (asked for by `{names[-1]}`)" if names else "",
        owner_zh=f"(由 `{names[-1]}` 使用)" if names else "",
    )  # fmt: skip
