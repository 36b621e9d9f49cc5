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
