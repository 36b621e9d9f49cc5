"""torch needs a newer NVIDIA driver.

## What it means
A CUDA build of torch needs a driver of the same CUDA major version: builds for CUDA 13 a driver of R580 or newer, those
for CUDA 12 one of R525 or newer. Within a major version an older driver serves.
## What it does to a run
`The NVIDIA driver on your system is too old (found version 12080)`, and `torch.cuda.is_available()` is False.
## What to do
Update the driver, or install the same torch built for the CUDA of this driver.
## How it is found
The CUDA version in torch's version file against the newest that the driver runs, as NVML tells it.
In a log: by torch's own message.
## References
https://docs.nvidia.com/deploy/cuda-compatibility/
https://github.com/modelscope/FunASR/issues/2973
"""

from __future__ import annotations

from doctor.checks.torch._helpers import WHEELS, major, older_wheel, public, trains_on_cpu
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="TOR002", name="cuda-newer-than-driver", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"The NVIDIA driver on your system is too old \(found version (?P<found>\d{4,6})\)"),
    Signature(r"CUDA driver version is insufficient for CUDA runtime version"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the NVIDIA driver ({driver}) is too old for the CUDA that torch{build} is built for",
        "A build for CUDA 13 needs a driver of R580 or newer, one for CUDA 12 R525 or newer. The default "
        "wheels are CUDA 13 since torch 2.11 and vLLM 0.20, so an upgrade alone can cause this.",
        "Update the driver, or install the same release (or an older one that still has it) built for "
        "the driver's CUDA: `pip install torch --index-url https://download.pytorch.org/whl/{wheel}`. "
        "For vLLM stay below 0.20 or take its +cu129 wheel. On a cluster ask for a node with a newer "
        "driver.",
    ),
    zh=Words(
        "NVIDIA 驱动({driver})对 torch{build} 所用的 CUDA 来说太旧",
        "CUDA 13 的构建需要 R580 及以上的驱动,CUDA 12 需要 R525 及以上。默认 wheel 自 torch 2.11 和 vLLM "
        "0.20 起为 CUDA 13,因此单是升级就会触发。",
        "更新驱动;或安装与驱动 CUDA 相符的同一版本:`pip install torch --index-url "
        "https://download.pytorch.org/whl/{wheel}`。vLLM 请使用 0.20 以下版本或其 +cu129 wheel。在集群上"
        "请申请驱动更新的节点。",
    ),
)

MESSAGE = Message(
    en=Words(
        "torch {version} is built for CUDA {cuda}, and driver {driver} runs CUDA {runs} at most",
        "torch finds no GPU: `The NVIDIA driver on your system is too old`. Only the major version binds; builds for "
        "any CUDA {major}.x run on this driver.",
        "Update the driver ({needs}), or install torch built for CUDA {major}.x.",
    ),
    zh=Words(
        "torch {version} 是为 CUDA {cuda} 编译的,而驱动 {driver} 最高支持 CUDA {runs}",
        "torch 找不到 GPU:`The NVIDIA driver on your system is too old`。只有主版本必须一致,任何 CUDA {major}.x "
        "的构建都能在该驱动上运行。",
        "升级驱动({needs}),或安装面向 CUDA {major}.x 的 torch。",
    ),
)

#: https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
DRIVERS = {11: "R450", 12: "R525", 13: "R580"}


@check(PROBLEM)
def cuda_newer_than_driver(
    packages: Packages,
    gpus: Gpus,
    environment: Environment | None,
    training: Training | None,
    world: World | None,
) -> Judgement:
    """Compare major versions. NVIDIA's forward compatibility package can lift the limit: then it is only likely."""
    build = packages.torch_build
    if build is None or build.cuda is None or not gpus.gpus or trains_on_cpu(training, world):
        return
    wanted, runs = major(build.cuda), major(gpus.cuda_driver_version)
    if wanted is None or runs is None:
        yield Skip("the driver does not tell which CUDA it runs")
        return
    if wanted <= runs:
        return
    search = (environment.get("LD_LIBRARY_PATH") if environment is not None else None) or ""
    tag = older_wheel(build.version, str(runs))
    install = f'pip install --force-reinstall "torch=={public(build.version)}" --index-url {WHEELS}/{tag}'
    yield found(
        PROBLEM,
        MESSAGE,
        confidence=LIKELY if "compat" in search else CONFIRMED,
        commands=(install,) if tag else (),
        evidence=(
            Evidence("torch/version.py", f"cuda {build.cuda}"),
            Evidence("NVML", f"driver {gpus.driver_version}, CUDA {gpus.cuda_driver_version}"),
        ),
        version=build.version,
        cuda=build.cuda,
        driver=gpus.driver_version or "here",
        runs=gpus.cuda_driver_version,
        major=runs,
        needs=f"{DRIVERS[wanted]} or newer" if wanted in DRIVERS else f"for CUDA {wanted}",
    )


def explain(hits: Hits) -> Finding | None:
    """12080 means CUDA 12.8."""
    number = int(hits.get("found") or 0)
    build = hits.versions.get("torch", "").partition("+")[2]
    cuda = f"CUDA {number // 1000}.{number % 1000 // 10}" if number else "?"
    wheel = "cu126" if number >= 12000 or not number else "cu118"
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        driver=f"up to {cuda}" if number else "version unknown",
        build=f" {build}" if build else "",
        wheel=wheel,
        # where the number is not told it may also be that no driver is there at all
        confidence=CONFIRMED if number else LIKELY,
    )
