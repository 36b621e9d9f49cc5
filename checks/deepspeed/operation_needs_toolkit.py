"""A DeepSpeed operation must be compiled and what that takes is missing.

## What it means
Optimizer offload needs DeepSpeedCPUAdam, and an Adam in the DeepSpeed JSON needs FusedAdam. A DeepSpeed from the
package index has neither ready: they are compiled on first use, with `nvcc` where a GPU is visible, and a C++ compiler.
## What it does to a run
It ends when the optimizer is made, after the model was loaded: `CUDA_HOME does not exist, unable to compile CUDA
op(s)`, `CUDA_HOME environment variable is not set`, or an error of the missing compiler.
## What to do
Install the toolkit of torch's CUDA version and a compiler, or avoid the operation: without `optimizer` in the JSON
and without offload torch's AdamW is used.
## How it is found
Offload and optimizer of the configuration, CUDA_HOME, nvcc and compiler of this machine. A DeepSpeed that was built
with its operations ready (DS_BUILD_OPS=1) does not need them, so the finding is likely and not confirmed.
In a log: by the exception of DeepSpeed's builder.
## References
https://www.deepspeed.ai/tutorials/advanced-install/
https://github.com/deepspeedai/DeepSpeed/blob/v0.19.5/op_builder/builder.py
"""

from __future__ import annotations

from doctor.checks.deepspeed._helpers import gpu_is_used, operation_built, setting_of
from doctor.checks.launch._helpers import proofs
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.cuda import Cuda
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.world import World

PROBLEM = Problem(id="DSP002", name="deepspeed-operation-needs-toolkit", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"RuntimeError: Unable to JIT load the (?P<op>\w{1,40}) op due to ninja not being installed"),
    Signature(r"RuntimeError: Unable to JIT load the (?P<op>\w{1,40}) op due to it not being compatible"),
    Signature(r"RuntimeError: Ninja is required to load C\+\+ extensions", frame=r"deepspeed/"),
    Signature(r"MissingCUDAException: ", frame=r"builder\.py:(?:jit_load|load)$"),
    Signature(r"'DeepSpeedCPUAdam' object has no attribute 'ds_opt_adam'", kind="sign"),
)

LOG_MESSAGE_NINJA = Message(
    en=Words(
        "DeepSpeed could not compile `{op}`: `ninja` is not installed",
        "The operation is compiled on first use, which takes ninja, a C++ compiler and a CUDA toolkit.",
        "Install it where the training runs: `pip install ninja`, and see that its folder is on PATH.",
    ),
    zh=Words(
        "DeepSpeed 无法编译 `{op}`:未安装 `ninja`",
        "该算子在首次使用时编译,需要 ninja、C++ 编译器和 CUDA 工具包。",
        "在训练所在环境安装:`pip install ninja`,并确认其所在目录在 PATH 中。",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "DeepSpeed could not compile `{op}`, which this configuration needs",
        "The operation is compiled on first use. The machine lacks what that takes: a CUDA toolkit with "
        "`nvcc` (CUDA_HOME), a compiler, or a library such as libaio; or the operation is not made for its GPU.",
        "Run `ds_report` to see what is missing; install the CUDA toolkit of torch's version and export "
        "`CUDA_HOME`, or do without the operation: `offload_optimizer` on `cpu` needs `cpu_adam`, `nvme` "
        'needs `async_io`, `optim="adamw_torch"` needs none.',
    ),
    zh=Words(
        "DeepSpeed 无法编译此配置所需的 `{op}`",
        "该算子在首次使用时编译。机器缺少所需的东西:带 `nvcc` 的 CUDA 工具包(CUDA_HOME)、编译器,或 libaio 之类的库;或"
        "该算子不支持本机 GPU。",
        "运行 `ds_report` 查看缺什么;安装与 torch 版本一致的 CUDA 工具包并导出 `CUDA_HOME`,或不用该算子"
        ':`offload_optimizer` 到 `cpu` 需要 `cpu_adam`,`nvme` 需要 `async_io`,`optim="adamw_torch"` 则不'
        "需要。",
    ),
)

TOOLKIT = Message(
    en=Words(
        "The run needs DeepSpeed's `{operation}`, and there is no `nvcc` to compile it",
        "It is compiled on first use, after the model was loaded, and the run ends there. Only a DeepSpeed that was "
        "built with its operations ready does without.",
        "Install the CUDA toolkit of torch's version and set CUDA_HOME, or use torch's own AdamW.",
    ),
    zh=Words(
        "本次运行需要 DeepSpeed 的 `{operation}`,而这里没有用来编译它的 `nvcc`",
        "它在首次使用时编译,那时模型已经加载完,运行会在此处失败。只有预先编译好算子的 DeepSpeed 不受影响。",
        "安装与 torch 版本一致的 CUDA 工具包并设置 CUDA_HOME,或改用 torch 自带的 AdamW。",
    ),
)
COMPILER = Message(
    en=Words(
        "The run needs DeepSpeed's `{operation}`, and there is no C++ compiler to build it",
        "It is compiled on first use, after the model was loaded, and the run ends there. Only a DeepSpeed that was "
        "built with its operations ready does without.",
        "Install a C++ compiler.",
    ),
    zh=Words(
        "本次运行需要 DeepSpeed 的 `{operation}`,而这里没有 C++ 编译器",
        "它在首次使用时编译,那时模型已经加载完,运行会在此处失败。只有预先编译好算子的 DeepSpeed 不受影响。",
        "安装一个 C++ 编译器。",
    ),
)


@check(PROBLEM, requires=("DSP001",))
def operation_needs_toolkit(
    world: World, cuda: Cuda, packages: Packages, deepspeed: DeepspeedConfig | None, gpus: Gpus | None
) -> Judgement:
    """Nothing to compile, nothing to say."""
    if world.backend != "deepspeed":
        return
    operation = operation_built(deepspeed, world)
    if operation is None:
        return
    reason = setting_of(deepspeed, "optimizer.type") or setting_of(
        deepspeed, "zero_optimization.offload_optimizer.device"
    )
    place, proof = place_of(reason), proofs(reason)
    if gpu_is_used(world, gpus, packages) and not cuda.nvcc_version:
        about = Evidence("CUDA toolkit", f"CUDA_HOME: {cuda.cuda_home or 'none found'}, nvcc: none")
        yield found(
            PROBLEM,
            TOOLKIT,
            operation=operation,
            where=place,
            confidence=LIKELY,
            commands=("export CUDA_HOME=/usr/local/cuda",),
            evidence=(*proof, about),
        )
    elif cuda.has_cxx_compiler is False:
        commands = ("apt-get install g++",)
        yield found(
            PROBLEM, COMPILER, operation=operation, where=place, confidence=LIKELY, commands=commands, evidence=proof
        )


def explain(hits: Hits) -> Finding | None:
    """Tell the missing ninja from the missing toolkit."""
    ninja = bool(hits.of(0) or hits.of(2))
    return found(
        PROBLEM,
        LOG_MESSAGE_NINJA if ninja else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("pip install ninja",) if ninja else ("ds_report",),
        op=hits.get("op") or "an operation",
    )
