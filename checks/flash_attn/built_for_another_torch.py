"""The installed flash-attn was built for another torch.

## What it means
flash-attn's compiled module fits the torch release (and CUDA major version) that it was built for, which the version
names: `2.7.4.post1+cu12torch2.5cxx11abiFALSE`. Another torch is installed.
## What it does to a run
`import flash_attn` ends with an undefined symbol. Transformers, TRL and veRL import it whenever it is installed, so
runs that do not ask for flash attention fail too.
## What to do
Install the build for the installed torch, or uninstall flash-attn where nothing needs it.
## How it is found
The local part of flash-attn's version against the installed torch. Without such a part nothing is claimed; `--deep`
imports it.
In a log: by the message that the program or the driver prints.
## References
https://github.com/Dao-AILab/flash-attention/issues/1644
https://github.com/Dao-AILab/flash-attention/issues/1691
https://github.com/Dao-AILab/flash-attention/releases
"""

from __future__ import annotations

import re

from doctor.checks.torch._helpers import major, numbers, public
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature
from doctor.facts.packages import Packages

PROBLEM = Problem(
    id="FLA003", name="flash-attn-of-another-torch", severity=ERROR, since="0.1", affects={"flash-attn": ">=2.0"}
)

SIGNATURES = (
    Signature(
        r"(?P<library>flash_attn\w{0,20}(?:/[\w.]{1,60})?|flash_attn_\d_cuda[\w.\-]{0,80})\.so:"
        r" undefined symbol: (?P<symbol>\w{1,300})",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the installed flash-attn was built for another torch than the one that is installed",
        "Its compiled module misses a function of libtorch. Transformers, TRL and veRL import flash-attn "
        "whenever it is installed, so runs that do not ask for it fail, too.",
        "Uninstall it where nothing needs it (`pip uninstall flash-attn`), or install the wheel for the "
        "installed torch, CUDA and C++ ABI (`cxx11abiTRUE` for torch 2.7 and newer from pip) from its "
        "release page, or rebuild: `pip install --force-reinstall --no-build-isolation --no-cache-dir "
        "flash-attn`.",
    ),
    zh=Words(
        "已安装的 flash-attn 是针对另一个 torch 构建的",
        "其编译模块缺少 libtorch 的函数。只要安装了 flash-attn,Transformers、TRL 和 veRL 就会导入它,因此"
        "不使用它的任务也会失败。",
        "若不需要则卸载(`pip uninstall flash-attn`);或从发布页安装与当前 torch、CUDA、C++ ABI 相符的 "
        "wheel(pip 的 torch 2.7 及以上为 `cxx11abiTRUE`);或重新编译:`pip install --force-reinstall "
        "--no-build-isolation --no-cache-dir flash-attn`。",
    ),
)

LOG_COMMANDS = ("pip uninstall flash-attn",)

MESSAGE = Message(
    en=Words(
        "flash-attn {version} is built for torch {wanted}, and torch {torch} is installed",
        "`import flash_attn` ends with an undefined symbol. Transformers, TRL and veRL import it whenever it is "
        "installed, so runs that do not ask for it fail too.",
        "Install the build for torch {torch}, or uninstall flash-attn where nothing needs it.",
    ),
    zh=Words(
        "flash-attn {version} 是为 torch {wanted} 编译的,而安装的是 torch {torch}",
        "`import flash_attn` 会因未定义的符号失败。只要安装了它,Transformers、TRL 和 veRL 就会导入,"
        "因此不使用它的训练也会失败。",
        "安装面向 torch {torch} 的构建;不需要时可以卸载 flash-attn。",
    ),
)

OTHER_CUDA = Message(
    en=Words(
        "flash-attn {version} is built for CUDA {wanted}, and torch is CUDA {torch}",
        "`import flash_attn` ends with a missing `libcudart.so.{wanted}`. Transformers, TRL and veRL import it "
        "whenever it is installed, so runs that do not ask for it fail too.",
        "Install the build for CUDA {torch}, or uninstall flash-attn where nothing needs it.",
    ),
    zh=Words(
        "flash-attn {version} 是为 CUDA {wanted} 编译的,而 torch 是 CUDA {torch}",
        "`import flash_attn` 会因缺少 `libcudart.so.{wanted}` 失败。只要安装了它,Transformers、TRL 和 veRL "
        "就会导入,因此不使用它的训练也会失败。",
        "安装面向 CUDA {torch} 的构建;不需要时可以卸载 flash-attn。",
    ),
)

_TAG = re.compile(r"(?:cu(?P<cuda>\d\d)\d*)?\.?torch(?P<torch>\d+\.\d+)")


@check(PROBLEM)
def built_for_another_torch(packages: Packages) -> Judgement:
    """Judge the tag that the builds of flash-attn's own releases carry."""
    version, torch = packages.version("flash-attn") or "", packages.version("torch")
    match = _TAG.search(version.partition("+")[2])
    if match is None or torch is None:
        return
    build = packages.torch_build
    cuda = major(build.cuda) if build is not None else None
    evidence = (Evidence("installed packages", f"flash-attn {version}, torch {torch}"),)
    again = (
        "pip uninstall -y flash-attn",
        f"pip install --no-cache-dir --no-build-isolation flash-attn=={public(version)}",
    )
    if numbers(match["torch"]) != numbers(torch)[:2]:
        yield found(
            PROBLEM, MESSAGE, confidence=LIKELY, commands=again, evidence=evidence,
            version=version, wanted=match["torch"], torch=torch,
        )  # fmt: skip
    elif match["cuda"] and cuda is not None and int(match["cuda"]) != cuda:
        yield found(
            PROBLEM, OTHER_CUDA, confidence=LIKELY, commands=again, evidence=evidence,
            version=version, wanted=match["cuda"], torch=cuda,
        )  # fmt: skip
