"""torch cannot be imported.

## What it means
`import torch` in the interpreter that is judged raises, crashes or does not end.
## What it does to a run
Nothing of the stack starts.
## What to do
Read the reason. An undefined symbol or a missing library means that LD_LIBRARY_PATH puts another CUDA first, or that
the nvidia-* packages of torch are missing or of another version. An illegal instruction means a build for a newer CPU.
## How it is found
`--deep` imports torch in a process of its own, with the command's variables.
In a log: by torch's words on Windows.
## References
https://github.com/pytorch/pytorch/issues/111469
https://github.com/pytorch/pytorch/pull/141063
https://github.com/pytorch/pytorch/issues/131662
https://github.com/pytorch/pytorch/issues/169429
https://github.com/nagadomi/nunif/issues/701
"""

from __future__ import annotations

from doctor.checks.python._imports import (
    ABSENT,
    LIBRARY,
    OTHER_CUDA,
    RAISED,
    SIGNAL,
    SYMBOL,
    TIMEOUT,
    failures,
    finding,
)
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.deep import Deep
from doctor.facts.packages import Packages

PROBLEM = Problem(id="TOR007", name="torch-import-fails", severity=ERROR, since="0.1")

MESSAGES = (ABSENT, SYMBOL, LIBRARY, OTHER_CUDA, SIGNAL, TIMEOUT, RAISED)

SIGNATURES = (
    Signature(
        r"\[WinError (?P<code>126|127|182|193|1114|\d{5})\] [^\n\"]{0,120}Error loading \"[^\"\n]{0,200}"
        r"[\\/](?P<library>[\w.+-]{1,40}\.dll)\" or one of its dependencies",
        keywords=(" or one of its dependencies",),
    ),
)
LOG_MESSAGE = Message(
    en=Words(
        "Windows does not load torch's `{library}`, or a library that it needs (error {code})",
        "{why} The file that is named is mostly there; what it needs is not.",
        "Install the newest Microsoft Visual C++ Redistributable (https://aka.ms/vs/17/release/vc_redist.x64.exe) and "
        "restart. {version} Import torch before PyQt and other libraries with DLLs of their own. A broken "
        "installation: `pip uninstall -y torch torchvision torchaudio`, then the three of one release anew. For "
        "training WSL 2 or Linux is the safer ground.",
    ),
    zh=Words(
        "Windows 无法加载 torch 的 `{library}` 或其依赖的库(错误 {code})",
        "{why_zh}所指的文件多半存在,缺的是它依赖的库。",
        "安装最新的 Microsoft Visual C++ Redistributable(https://aka.ms/vs/17/release/vc_redist.x64.exe)并重启。"
        "{version_zh}在 PyQt 等自带 DLL 的库之前导入 torch。安装损坏时:`pip uninstall -y torch torchvision "
        "torchaudio`,再安装同一版本的三者。训练建议使用 WSL 2 或 Linux。",
    ),
)
#: error of Windows -> what it says of a library
#: https://learn.microsoft.com/en-us/windows/win32/debug/system-error-codes--0-499-
_WHY = {
    "126": (
        "A library that it needs was not found: Visual Studio's C++ runtime, or OpenMP's (`libomp140.x86_64.dll`).",
        "未找到它依赖的库:Visual Studio 的 C++ 运行库,或 OpenMP 的 `libomp140.x86_64.dll`。",
    ),
    "127": (
        "A library that it needs was found in another version: a file of another torch, or of a program in PATH.",
        "它依赖的库版本不符:来自另一个 torch 的文件,或 PATH 中其他程序的文件。",
    ),
    "1114": (
        "A library failed to start: the C++ runtime is older than torch needs, or another program's was loaded before.",
        "库已找到但初始化失败:本机的 C++ 运行库比 torch 构建所用的旧,或先加载了其他程序自带的副本。",
    ),
}
_OTHER = ("The loader of Windows refused it.", "Windows 加载器拒绝了它。")
#: torch 2.4.0 forgot a library; https://github.com/pytorch/pytorch/issues/131662
_FORGOTTEN = (
    "torch 2.4.0 lacks `libomp140.x86_64.dll` on Windows: take 2.4.1 or newer.",
    "Windows 版 torch 2.4.0 缺少 `libomp140.x86_64.dll`:改用 2.4.1 或更新版本。",
)


def explain(hits: Hits) -> Finding:
    """The number tells whether a library is absent, another one, or does not start."""
    code, library = hits.get("code") or "", hits.get("library") or ""
    why, why_zh = _WHY.get(code, _OTHER)
    version, version_zh = _FORGOTTEN if code == "126" and library == "fbgemm.dll" else ("", "")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, code=code,
        library=library, why=why, why_zh=why_zh, version=version, version_zh=version_zh,
    )  # fmt: skip


@check(PROBLEM)
def import_fails(deep: Deep, packages: Packages | None) -> Judgement:
    """What fails only because torch does is not told again."""
    for each in failures(deep, "torch"):
        yield finding(PROBLEM, each, packages)
