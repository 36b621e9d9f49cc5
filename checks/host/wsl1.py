"""The machine is the first version of Windows' Linux, which has no GPU.

## What it means
WSL 1 translates system calls and has no Linux kernel of its own, so it has no NVIDIA driver and no CUDA.
## What it does to a run
torch sees no GPU, whatever is installed.
## What to do
Turn the distribution into WSL 2 and install NVIDIA's driver for Windows.
## How it is found
Release of the kernel.
## References
https://docs.nvidia.com/cuda/wsl-user-guide/index.html
https://learn.microsoft.com/windows/wsl/compare-versions
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.host import Host

PROBLEM = Problem(id="HST010", name="wsl1", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "This is WSL 1, which has no CUDA",
        "No GPU can be seen from here, whatever driver and packages are installed.",
        "Convert the distribution to WSL 2 from Windows.",
    ),
    zh=Words(
        "当前环境是 WSL 1,没有 CUDA",
        "无论安装什么驱动和软件包,这里都看不到 GPU。",
        "在 Windows 中把该发行版转换为 WSL 2。",
    ),
)


@check(PROBLEM)
def wsl1(host: Host) -> Judgement:
    """Judge the kernel alone."""
    if host.wsl == 1:
        yield found(
            PROBLEM,
            MESSAGE,
            commands=("wsl --list --verbose", "wsl --set-version Ubuntu 2"),
            evidence=(Evidence("uname -r", host.kernel),),
        )
