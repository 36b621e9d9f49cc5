"""The process really loads a CUDA library that is not torch's own.

## What it means
After `import torch` and a matrix product, the memory map shows cuBLAS, cuDNN, NCCL or nvJitLink from another folder
than that of the nvidia-* packages, which torch brings.
## What it does to a run
torch runs with a library that it was not built with. An older one crashes or lacks symbols; of NCCL every rank must
have the same.
## What to do
Take the folder out of LD_LIBRARY_PATH (or LD_PRELOAD), or accept it knowingly.
## How it is found
`--deep` reads /proc/PID/maps of a process that has used torch.
## References
https://github.com/vllm-project/vllm/issues/4392
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
"""

from __future__ import annotations

from doctor.checks.cuda._helpers import is_older, wheel_version
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import INFO, WARNING, Problem
from doctor.facts.deep import Deep
from doctor.facts.packages import Packages

PROBLEM = Problem(id="CUD007", name="foreign-library-loaded", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "torch really loads {stem} {version} from `{path}`",
        "It was built with the one of its own packages ({own}). An older library lacks symbols or crashes; of NCCL all "
        "ranks need the same.",
        "Take the folder out of LD_LIBRARY_PATH and LD_PRELOAD, unless it is there on purpose.",
    ),
    zh=Words(
        "torch 实际加载的是 `{path}` 中的 {stem} {version}",
        "torch 是用自带包中的版本({own})构建的。较旧的库会缺少符号或崩溃;各 rank 的 NCCL 必须一致。",
        "除非有意为之,请把该目录从 LD_LIBRARY_PATH 和 LD_PRELOAD 去掉。",
    ),
)

#: those whose version decides over numbers and over the agreement between ranks
STEMS = ("libcublasLt", "libcublas", "libnccl", "libcudnn", "libnvJitLink")


@check(PROBLEM)
def foreign_library_loaded(deep: Deep, packages: Packages) -> Judgement:
    """Only where torch brings a library of that name: conda's and NVIDIA's containers have theirs elsewhere."""
    for mapped in deep.mapped:
        wheel = packages.wheel_libraries.get(mapped.stem)
        if mapped.stem not in STEMS or not wheel or "/nvidia/" in mapped.path:
            continue
        own = wheel_version(packages, mapped.stem)
        newer = is_older(mapped.version, own) is False
        yield found(
            PROBLEM,
            MESSAGE,
            severity=INFO if newer else WARNING,
            commands=("unset LD_LIBRARY_PATH",),
            evidence=(Evidence("/proc/PID/maps", mapped.path), Evidence("torch's own", wheel)),
            stem=mapped.stem,
            version=mapped.version or "of unknown version",
            path=mapped.path,
            own=own or "version not stated",
        )
