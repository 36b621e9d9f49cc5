"""LD_LIBRARY_PATH puts an older nvJitLink in front of torch's own.

## What it means
torch's cuSPARSE needs functions of the nvJitLink that comes with it. The dynamic linker looks for that library in
LD_LIBRARY_PATH first and finds the one of an older toolkit. torch 2.6 and newer load their own beforehand, at first
only in the builds for CUDA 12.4 and 12.6.
## What it does to a run
`import torch` ends with `libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12`.
## What to do
Take the toolkit's folder out of LD_LIBRARY_PATH, or put the one of the nvidia-nvjitlink package first.
## How it is found
libnvJitLink in the folders of LD_LIBRARY_PATH against the version of the nvidia-nvjitlink package.
In a log: by the message that the program or the driver prints.
## References
https://github.com/pytorch/pytorch/issues/111469
https://github.com/pytorch/pytorch/issues/134929
https://github.com/pytorch/pytorch/pull/141063
https://github.com/pytorch/pytorch/issues/152783
"""

from __future__ import annotations

from doctor.checks.cuda._helpers import is_older, wheel_version
from doctor.checks.torch._helpers import numbers
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature
from doctor.facts.cuda import Cuda
from doctor.facts.packages import Packages

PROBLEM = Problem(id="CUD005", name="nvjitlink-shadowed", severity=ERROR, since="0.1", affects={"torch": ">=2.1,<2.8"})

SIGNATURES = (
    Signature(
        r"undefined symbol: (?P<symbol>__nvJitLink\w{1,60}), version"
        r" (?P<library>libnvJitLink\.so\.\d{1,3})",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "torch loaded an older {library}, without `{symbol}`",
        "cuSPARSE of torch's wheel needs the nvJitLink that comes with it. An older copy was found "
        "first: of a system toolkit, in LD_LIBRARY_PATH, or of another package.",
        "Start with that folder taken out: `env -u LD_LIBRARY_PATH python -c 'import torch'`. If "
        "LD_LIBRARY_PATH is needed, put the wheel's folder first: `export LD_LIBRARY_PATH=$(python -c "
        "'import nvidia.nvjitlink as n; print(n.__path__[0])')/lib:$LD_LIBRARY_PATH`; upgrade "
        "`nvidia-nvjitlink-cu12` where it is the old one; or install torch 2.8 or newer.",
    ),
    zh=Words(
        "torch 加载了较旧的 {library},其中没有 `{symbol}`",
        "torch wheel 中的 cuSPARSE 需要随附的 nvJitLink。却先找到了较旧的副本:系统工具包、"
        "LD_LIBRARY_PATH 或其他包中的。",
        "去掉该目录后启动:`env -u LD_LIBRARY_PATH python -c 'import torch'`。若需要 LD_LIBRARY_PATH,把 "
        "wheel 的目录放在最前:`export LD_LIBRARY_PATH=$(python -c 'import nvidia.nvjitlink as n; "
        "print(n.__path__[0])')/lib:$LD_LIBRARY_PATH`;若旧的是 `nvidia-nvjitlink-cu12` 包则升级;或安装 "
        "torch 2.8 及以上版本。",
    ),
)

MESSAGE = Message(
    en=Words(
        "LD_LIBRARY_PATH puts libnvJitLink {version} in front of torch's {own}",
        "`import torch` ends with `undefined symbol: __nvJitLink...`, because cuSPARSE gets the older library from "
        "{folder}.",
        "Take {folder} out of LD_LIBRARY_PATH; torch does not need it.",
    ),
    zh=Words(
        "LD_LIBRARY_PATH 使 libnvJitLink {version} 排在 torch 自带的 {own} 之前",
        "cuSPARSE 会取到 {folder} 中较旧的库,`import torch` 会以 `undefined symbol: __nvJitLink...` 失败。",
        "把 {folder} 从 LD_LIBRARY_PATH 去掉;torch 不需要它。",
    ),
)


@check(PROBLEM)
def nvjitlink_shadowed(cuda: Cuda, packages: Packages) -> Judgement:
    """Its symbols carry the minor version, so an older minor version lacks some."""
    build = packages.torch_build
    loads_its_own = packages.matches("torch", ">=2.6") and build is not None and build.cuda in {"12.4", "12.6"}
    own = wheel_version(packages, "libnvJitLink")
    if loads_its_own or own is None:
        return
    for each in cuda.shadowing:
        if each.stem != "libnvJitLink" or not is_older(_minor(each.version), _minor(own)):
            continue
        wheel = packages.wheel_libraries.get("libnvJitLink", "")
        first = f"export LD_LIBRARY_PATH={wheel.rpartition('/')[0]}:$LD_LIBRARY_PATH"
        yield found(
            PROBLEM,
            MESSAGE,
            confidence=LIKELY,
            commands=("unset LD_LIBRARY_PATH", *((first,) if wheel else ())),
            evidence=(Evidence(each.path, each.version or ""), Evidence("nvidia-nvjitlink", own)),
            version=each.version,
            own=own,
            folder=each.folder,
        )


def _minor(version: str | None) -> str:
    return ".".join(map(str, numbers(version)[:2]))
