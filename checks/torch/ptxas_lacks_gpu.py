"""The ptxas in use does not know this GPU's architecture.

## What it means
Triton and nvcc assemble code with ptxas, which knows the architectures of its time. A card that is newer
than it has no name there.
## What it does to a run
`Value 'sm_...' is not defined for option 'gpu-name'`, at the first kernel that Triton compiles.
## What to do
Use a newer ptxas or a newer Triton.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/triton-lang/triton/issues/8539
https://github.com/InternLM/lmdeploy/issues/3410
https://blog.gitcode.com/7f02eda280a754b17f5dd9a1a01a78d3.html
https://docs.nvidia.com/cuda/parallel-thread-execution/#release-notes
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR019", name="ptxas-lacks-gpu", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Value '(?P<arch>sm_\w{2,8})' is not defined for option 'gpu-name'"),
    Signature(r"nvcc fatal {1,4}: Unsupported gpu architecture '(?P<arch>(?:compute|sm)_\w{2,8})'"),
    Signature(
        r"(?:Feature|Instruction|Modifier) '(?P<feature>[^'\n]{1,80})'[^\n]{0,40}? requires PTX ISA "
        r"\.version (?P<isa>\d{1,2}\.\d) or (?:later|higher)",
        keywords=("requires PTX ISA .version",),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the ptxas or nvcc in use does not know `{arch}`, this GPU's architecture",
        "The card is newer than the compiler: Triton's bundled ptxas, or the CUDA toolkit that nvcc "
        "belongs to. sm_120 (RTX 50) and sm_100 (B200, Blackwell) need CUDA 12.8 and Triton 3.3, their family names "
        "with an f (sm_100f) CUDA 12.9, sm_121 and sm_110 (DGX Spark, Thor) CUDA 13.",
        "Install a CUDA toolkit that knows the card and point Triton at it: `export "
        "TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas`; or upgrade torch together with its Triton (torch "
        "2.7 cu128 or newer for sm_120). For nvcc set CUDA_HOME to the newer toolkit.",
    ),
    zh=Words(
        "所用的 ptxas 或 nvcc 不认识此 GPU 的架构 `{arch}`",
        "显卡比编译器新:Triton 自带的 ptxas,或 nvcc 所属的 CUDA 工具包。sm_120(RTX 50)与 sm_100(B200,Blackwell)需要"
        " CUDA 12.8 和 Triton 3.3,带 f 的族名(sm_100f)需要 CUDA 12.9,sm_121 与 sm_110(DGX Spark、Thor)需要 CUDA "
        "13。",
        "安装支持该显卡的 CUDA 工具包并让 Triton 使用它:`export "
        "TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas`;或将 torch 与其 Triton 一起升级(sm_120 需 torch "
        "2.7 cu128 及以上)。nvcc 请把 CUDA_HOME 指向较新的工具包。",
    ),
)

LOG_MESSAGE_NVCC = Message(
    en=Words(
        "nvcc does not know `{arch}`: the CUDA toolkit is too old for this GPU or this list",
        "An extension is compiled for the architectures of the GPUs here or of `TORCH_CUDA_ARCH_LIST`. sm_86 (RTX "
        "30) needs CUDA 11.1, sm_89 and sm_90 (RTX 40, H100) 11.8, sm_100 and sm_120 (B200, RTX 50) 12.8.",
        "Install a newer CUDA toolkit of torch's major version and set `CUDA_HOME` and `PATH` to it (`nvcc -V` "
        "tells which is found). Or build for an architecture that nvcc knows and the card runs too, one of the same "
        'generation or older (`export TORCH_CUDA_ARCH_LIST="8.0+PTX"`). Or take a ready-made wheel.',
    ),
    zh=Words(
        "nvcc 不认识 `{arch}`:CUDA 工具包比该 GPU 或目标架构列表旧",
        "扩展会为此处的 GPU 或 `TORCH_CUDA_ARCH_LIST` 中的架构编译。sm_86(RTX 30)需要 CUDA 11.1,sm_89 和 sm_90(RTX "
        "40、H100)需要 11.8,sm_100 和 sm_120(B200、RTX 50)需要 12.8。",
        "安装与 torch 主版本相同的较新 CUDA 工具包,并让 `CUDA_HOME` 和 `PATH` 指向它(`nvcc -V` 显示找到的是哪个)。或"
        '为 nvcc 认识且显卡也能运行的架构构建,同代或更旧(`export TORCH_CUDA_ARCH_LIST="8.0+PTX"`)。或使用现成 '
        "wheel。",
    ),
)
LOG_MESSAGE_DROPPED = Message(
    en=Words(
        "nvcc does not know `{arch}`: this CUDA toolkit dropped it, or does not have it yet",
        "CUDA 12 no longer builds for Kepler (3.x), CUDA 13 no longer for Maxwell, Pascal and Volta (5.x to 7.2). "
        "It stands in `TORCH_CUDA_ARCH_LIST`, in the package's setup.py, or is the GPU of this machine.",
        'Without such a GPU take it out: `export TORCH_CUDA_ARCH_LIST="8.0;9.0"` (or remove `-gencode` of it from '
        "setup.py). With one use CUDA 12 (CUDA 11 for Kepler) and a torch built for it.",
    ),
    zh=Words(
        "nvcc 不认识 `{arch}`:较新的 CUDA 工具包已移除该旧架构,或过旧的工具包尚无它",
        "CUDA 12 不再支持 Kepler(3.x),CUDA 13 不再支持 Maxwell、Pascal 和 Volta(5.x 到 7.2)。它出现在 "
        "`TORCH_CUDA_ARCH_LIST`、该包的 setup.py 中,或就是本机的 GPU。",
        '没有这种 GPU 时去掉它:`export TORCH_CUDA_ARCH_LIST="8.0;9.0"`(或从 setup.py 删除其 `-gencode`)。若有,使用 '
        "CUDA 12(Kepler 用 CUDA 11)及相应的 torch。",
    ),
)
LOG_MESSAGE_LANGUAGE = Message(
    en=Words(
        "`{feature}` needs PTX {isa}, and the compiler in use writes an older one: it is too old",
        "The source was written for a newer CUDA toolkit{cuda}. nvcc (or Triton) put a lower version on top of the "
        "code, and the assembler refuses the instruction. Often it is an old nvcc of the distribution (/usr/bin/nvcc "
        "of Ubuntu's nvidia-cuda-toolkit) that comes before the one in /usr/local/cuda. GPU and driver have no part "
        "in it.",
        "`which -a nvcc; nvcc -V` shows which one is found. Name the newer one: `export CUDA_HOME=/usr/local/cuda "
        "PATH=/usr/local/cuda/bin:$PATH`, with CMake `-DCMAKE_CUDA_COMPILER=/usr/local/cuda/bin/nvcc`; delete the "
        "build folder and build again. If there is none, install a toolkit of torch's CUDA version, or take a "
        "ready-made wheel.",
    ),
    zh=Words(
        "`{feature}` 需要 PTX {isa},而所用编译器写出的版本更旧:编译器过旧",
        "该源码面向更新的 CUDA 工具包{cuda_zh}。nvcc(或 Triton)写入了较低的 PTX 版本,汇编器拒绝该指令。常见原因是发行"
        "版自带的旧 nvcc(Ubuntu 的 nvidia-cuda-toolkit 提供的 /usr/bin/nvcc)排在 /usr/local/cuda 的之前。与 GPU 和驱动"
        "无关。",
        "`which -a nvcc; nvcc -V` 显示找到的是哪个。指定较新的:`export CUDA_HOME=/usr/local/cuda "
        "PATH=/usr/local/cuda/bin:$PATH`,CMake 用 `-DCMAKE_CUDA_COMPILER=/usr/local/cuda/bin/nvcc`;删除构建目录后重新"
        "编译。若没有,请安装与 torch 的 CUDA 版本相同的工具包,或使用现成的 wheel。",
    ),
)
#: version of PTX -> release of CUDA that brought it
#: https://docs.nvidia.com/cuda/parallel-thread-execution/#release-notes
_BROUGHT_BY = {
    "7.0": "11.0", "7.1": "11.1", "7.2": "11.2", "7.3": "11.3", "7.4": "11.4", "7.5": "11.5", "7.6": "11.6",
    "7.7": "11.7", "7.8": "11.8", "8.0": "12.0", "8.1": "12.1", "8.2": "12.2", "8.3": "12.3", "8.4": "12.4",
    "8.5": "12.5", "8.6": "12.7", "8.7": "12.8", "8.8": "12.9", "9.0": "13.0", "9.1": "13.1",
}  # fmt: skip
_DROPPED_UP_TO = 72  # compute capability in tenths: Volta, which CUDA 13 dropped
_NVCC = 1  # position of nvcc's words


def explain(hits: Hits) -> Finding:
    """A language too new, Triton's assembler, or nvcc; a card too new, or an architecture that was dropped."""
    if isa := hits.first.groups.get("isa"):
        cuda = _BROUGHT_BY.get(isa)
        return found(
            PROBLEM, LOG_MESSAGE_LANGUAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, isa=isa,
            feature=hits.first.groups["feature"], cuda=f" ({cuda} or newer)" if cuda else "",
            cuda_zh=f"({cuda} 及以上)" if cuda else "",
        )  # fmt: skip
    arch = hits.first.groups["arch"]
    number = int((re.findall(r"\d+", arch) or ["999"])[0])
    if hits.first.signature != _NVCC:
        return found(
            PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, arch=arch,
            commands=("export TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas",),
        )  # fmt: skip
    dropped = number <= _DROPPED_UP_TO
    return found(
        PROBLEM, LOG_MESSAGE_DROPPED if dropped else LOG_MESSAGE_NVCC, where=hits.where(), evidence=hits.evidence(),
        confidence=LIKELY if dropped else CONFIRMED, arch=arch,
    )  # fmt: skip
