"""veRL's way of sending weights could not be imported.

## What it means
veRL 0.7 and newer send weights through a "checkpoint engine" (`nccl`, `hccl`, `nixl`, `mooncake`, `kimi_ckpt_engine`).
Each is imported when veRL starts, and one whose packages are missing is left out without a word.
## What it does to a run
Workers of asynchronous or separated training end as soon as they look the engine up.
## What to do
Install the packages that the engine imports.
## How it is found
In a log: by the look-up that fails.
## References
https://github.com/verl-project/verl/issues/5684
https://github.com/rllm-org/rllm/pull/672
https://github.com/verl-project/verl/blob/main/verl/checkpoint_engine/__init__.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VRL042", name="checkpoint-engine-not-registered", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"ValueError: Checkpoint engine (?P<name>\w{1,40}) not registered"),)

LOG_MESSAGE = Message(
    en=Words(
        "veRL's checkpoint engine `{name}` is not there: what it imports is missing",
        "veRL imports its engines at the start and leaves out one that fails to import, without a word. `nccl` and "
        "`hccl` need more than torch: `nccl` imports CuPy, `nixl` its own package. A misspelt name gives the same "
        "error.",
        "See the real error: `{command}`. Then install what it asks for; for `nccl` mostly CuPy of your CUDA (`pip "
        "install cupy-cuda12x` or `cupy-cuda13x`), on every node.",
    ),
    zh=Words(
        "veRL 的 checkpoint engine `{name}` 不存在:缺少它要导入的包",
        "veRL 在启动时导入各引擎,导入失败的会被默默略过。`nccl` 与 `hccl` 需要的不止 torch:`nccl` 要导入 CuPy,`nixl` "
        "要它自己的包。名称拼错也会得到同样的错误。",
        "先看真正的错误:`{command}`。再安装它所缺的包;`nccl` 多半缺与 CUDA 对应的 CuPy(`pip install cupy-cuda12x` 或 "
        "`cupy-cuda13x`),每个节点都要装。",
    ),
)


def explain(hits: Hits) -> Finding:
    """The module of the engine, imported by hand, tells what is missing."""
    name = (hits.get("name") or "").removesuffix("_ckpt_engine")
    command = f'python -c "import verl.checkpoint_engine.{name}_checkpoint_engine"'
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, commands=(command,),
        name=hits.get("name"), command=command,
    )  # fmt: skip
