"""Triton is not the one that torch was built with.

## What it means
Each torch release pins one Triton, because its compiler calls into Triton's internals. Another one is installed.
## What it does to a run
`import torch` works. `torch.compile`, flex attention and Liger's or vLLM's Triton kernels fail on first use, for
instance with `cannot import name 'AttrsDescriptor'`.
## What to do
Install the pinned Triton.
## How it is found
Triton's version against torch's own metadata.
## References
https://github.com/woct0rdho/triton-windows/issues/97
https://pypi.org/project/torch/
"""

from __future__ import annotations

from doctor.checks.python._helpers import applies, needs, parsed, satisfies
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.signature import Signature
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Packages

PROBLEM = Problem(id="TOR005", name="triton-of-another-torch", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "torch {version} needs `{requirement}`, and Triton {triton} is installed",
        "torch's compiler calls into Triton's internals. `torch.compile` and kernels written in Triton can fail on "
        "first use, although `import torch` works.",
        "Install the Triton that torch {version} pins.",
    ),
    zh=Words(
        "torch {version} 需要 `{requirement}`,而安装的是 Triton {triton}",
        "torch 的编译器会调用 Triton 的内部接口。即使 `import torch` 正常,`torch.compile` 和用 Triton 编写的 "
        "kernel 也可能在首次使用时失败。",
        "安装 torch {version} 指定的 Triton。",
    ),
)


SIGNATURES = (
    Signature(
        r"^TypeError: must be called with a dataclass type or instance$",
        frame=r"torch[\\/]_inductor[\\/]runtime[\\/]hints\.py:",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "Triton 3.2 or newer is installed beside a torch that is older than 2.6",
        "torch's compiler reads a class of Triton (`AttrsDescriptor`) that was a dataclass up to Triton 3.1. torch "
        "pins its Triton; another package, or an image such as Kaggle's, upgraded it alone.",
        'Bring the two together: `pip install "triton<3.2"` (torch 2.5 wants 3.1.0), or upgrade torch with what is '
        "built on it: `pip install -U torch torchvision`. Restart the process or notebook afterwards. Without "
        "compiling it runs, too: `TORCHDYNAMO_DISABLE=1` before the import.",
    ),
    zh=Words(
        "Triton 为 3.2 或更新,而旁边的 torch 早于 2.6",
        "torch 的编译器读取 Triton 的一个类(`AttrsDescriptor`),它在 Triton 3.1 及以前是 dataclass。torch 固定了其 "
        "Triton 版本;另一个包或 Kaggle 等镜像单独升级了它。",
        '使两者一致:`pip install "triton<3.2"`(torch 2.5 需要 3.1.0),或连同依赖 torch 的包一起升级:`pip install -U '
        "torch torchvision`。之后重启进程或 notebook。不编译也可运行:在导入前设置 `TORCHDYNAMO_DISABLE=1`。",
    ),
)
LOG_CONFIDENCE = LIKELY


@check(PROBLEM)
def triton_of_another_torch(packages: Packages, interpreter: Interpreter | None) -> Judgement:
    """Only where Triton is there: its absence is PYT015."""
    triton = packages.version("triton")
    if triton is None:
        return
    for need in needs(packages):
        if (need.owner.name, need.name) != ("torch", "triton"):
            continue
        requirement = parsed(need.line)
        if requirement is None or not applies(requirement, interpreter):
            continue
        if satisfies(triton, requirement.specifier) is False:
            wanted = f"triton{requirement.specifier}"
            yield found(
                PROBLEM,
                MESSAGE,
                confidence=LIKELY,
                commands=(f'pip install "{wanted}"',),
                evidence=(Evidence(f"metadata of torch {need.owner.version}", f"Requires-Dist: {need.line}"),),
                version=need.owner.version,
                requirement=wanted,
                triton=triton,
            )
