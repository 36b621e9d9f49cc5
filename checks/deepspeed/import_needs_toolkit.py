"""`import deepspeed` fails on a GPU machine without a CUDA toolkit.

## What it means
DeepSpeed before 0.19.5 tries every one of its operations while it is imported, and some of them look for `nvcc`.
Where a GPU is visible and no toolkit is found, the import itself raises.
## What it does to a run
`MissingCUDAException: CUDA_HOME does not exist, unable to compile CUDA op(s)` (FileNotFoundError where CUDA_HOME lacks
`bin/nvcc`). An installed DeepSpeed that nobody uses is enough: TRL up to 0.17.0 imports it in its trainers, accelerate
when it unwraps the model.
## What to do
Install DeepSpeed 0.19.5 or newer, install a toolkit and set CUDA_HOME, or uninstall DeepSpeed where it is not used.
## How it is found
Installed version, the toolkit that torch would find (CUDA_HOME, CUDA_PATH, nvcc on PATH, /usr/local/cuda), visible
GPUs.
In a log: by the exception raised during the import.
## References
https://github.com/deepspeedai/DeepSpeed/issues/7452
https://github.com/deepspeedai/DeepSpeed/pull/8216
"""

from __future__ import annotations

from doctor.checks.deepspeed._helpers import gpu_is_used
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.cuda import Cuda
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.world import World

PROBLEM = Problem(
    id="DSP001", name="deepspeed-import-needs-toolkit", severity=ERROR, since="0.1", affects={"deepspeed": "<0.19.5"}
)

SIGNATURES = (
    Signature(r"MissingCUDAException: (?:CUDA_HOME does not exist|Unable to run [^\s]{1,200}nvcc)"),
    Signature(
        # ranks that share a stream print it into one another: "FileNotFoundErrorFileNotFoundError: :     [Errno 2]"
        r"FileNotFoundError[: ]{2,24}\[Errno 2\] [^:'\n]{2,60}: '[^'\n]{1,200}/bin/nvcc'",
        frame=r"deepspeed/",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`import deepspeed` failed: a GPU is visible and there is no CUDA toolkit (`nvcc`)",
        "DeepSpeed before 0.19.5 asks `nvcc` for its version while it is imported, whether or not the "
        "run uses DeepSpeed: TRL and accelerate import it when it is installed.",
        'Upgrade: `pip install -U "deepspeed>=0.19.5"`. Or install a CUDA toolkit and set `CUDA_HOME`, '
        "export `DS_IGNORE_CUDA_DETECTION=1`, or `pip uninstall deepspeed` where it is not used.",
    ),
    zh=Words(
        "`import deepspeed` 失败:有可见的 GPU,却没有 CUDA 工具包(`nvcc`)",
        "0.19.5 之前的 DeepSpeed 在导入时就询问 `nvcc` 的版本,不论训练是否使用 DeepSpeed:只要安装了,TRL "
        "和 accelerate 就会导入它。",
        '升级:`pip install -U "deepspeed>=0.19.5"`。或安装 CUDA 工具包并设置 `CUDA_HOME`,或导出 '
        "`DS_IGNORE_CUDA_DETECTION=1`,不用时也可 `pip uninstall deepspeed`。",
    ),
)

MESSAGE = Message(
    en=Words(
        "DeepSpeed {version} cannot be imported here: a GPU is visible and there is no `nvcc`",
        "`import deepspeed` ends with `CUDA_HOME does not exist, unable to compile CUDA op(s)`, also in runs that do "
        "not use it: TRL or accelerate imports it when it is installed. This is a fault of DeepSpeed before 0.19.5.",
        "Install DeepSpeed 0.19.5 or newer, install a CUDA toolkit, or uninstall DeepSpeed where it is not used.",
    ),
    zh=Words(
        "DeepSpeed {version} 在这里无法导入:有可见的 GPU,却没有 `nvcc`",
        "`import deepspeed` 会以 `CUDA_HOME does not exist, unable to compile CUDA op(s)` 失败,不使用它的训练也一样:"
        "只要装了,TRL 或 accelerate 就会导入它。这是 0.19.5 之前 DeepSpeed 的缺陷。",
        "安装 DeepSpeed 0.19.5 或更新版本,或安装 CUDA 工具包;不用时也可卸载 DeepSpeed。",
    ),
)


@check(PROBLEM)
def import_needs_toolkit(
    packages: Packages, cuda: Cuda, environment: Environment | None, gpus: Gpus | None, world: World | None
) -> Judgement:
    """A run that certainly uses DeepSpeed fails; one that only has it installed may."""
    if cuda.cuda_home and cuda.nvcc_version:
        return
    if environment is not None and environment.flag("DS_IGNORE_CUDA_DETECTION"):
        return
    used = gpu_is_used(world, gpus, packages)
    if used is None:
        yield Skip("the GPUs of this machine cannot be seen")
    if not used:
        return
    certain = (world is not None and world.backend == "deepspeed") or bool(packages.matches("trl", "<=0.17.0"))
    version = packages.version("deepspeed")
    yield found(
        PROBLEM,
        MESSAGE,
        version=version,
        severity=ERROR if certain else WARNING,
        confidence=CONFIRMED if certain else LIKELY,
        commands=("pip install 'deepspeed>=0.19.5'",),
        evidence=(Evidence("CUDA toolkit", f"CUDA_HOME: {cuda.cuda_home or 'none found'}, nvcc: none"),),
    )


def explain(hits: Hits) -> Finding | None:
    """An operation that is compiled later is another problem (DSP002)."""
    if any(frame.endswith((":jit_load", ":load")) for hit in hits for frame in hit.frames):
        return None
    commands = ("pip install -U 'deepspeed>=0.19.5'",)
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), commands=commands)
