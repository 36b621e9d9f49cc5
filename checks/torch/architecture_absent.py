"""The installed torch has no code for this GPU.

## What it means
A torch build holds machine code for a list of compute capabilities. Code of the same major version and a lower minor
one runs too (8.6 on an RTX 4090, 8.9), and PTX is compiled for newer cards. This card has neither.
## What it does to a run
torch warns that the GPU "is not compatible with the current PyTorch installation"; the first kernel ends with
`CUDA error: no kernel image is available for execution on the device`.
## What to do
Install a build for another CUDA version that has this architecture, or another release.
## How it is found
Compute capability from NVML against the list of the build: torch's own answer with `--deep`, else the list of its
release and CUDA variant.
In a log: by torch's own message.
## References
https://github.com/pytorch/pytorch/blob/main/RELEASE.md
https://github.com/pytorch/pytorch/pull/172352
https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#binary-compatibility
"""

from __future__ import annotations

from doctor import data
from doctor.checks.torch._helpers import WHEELS, cuda_tag, is_official, public, runs_on, trains_on_cpu, used_gpus
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Finding, Message, Skip, Where, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.deep import Deep
from doctor.facts.gpus import Gpu, Gpus
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="TOR003", name="gpu-architecture-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"CUDA (?:runtime )?error: no kernel image is available for execution on the device"
        r"(?: (?P<turbomind>/\S{0,80}turbomind/\S{1,160}))?"
    ),
    Signature(
        r"^(?:[^\n]{0,200}UserWarning: )?(?P<gpu>[^\n:]{2,80}) with CUDA capability"
        r" (?P<arch>sm_\d{2,3}) is not compatible with the current PyTorch installation",
        kind="warning",
    ),
    Signature(
        r"OpError: expects arch to be one of \[(?P<known>[^\]\n]{4,160})\], but got (?:Arch\.)?(?P<card>sm_\w{2,6})"
    ),
)

LOG_MESSAGE_CARD = Message(
    en=Words(
        "{gpu} is {arch}, for which the installed torch holds no code",
        "A build holds machine code for a list of architectures. RTX 50 and RTX PRO Blackwell ({arch} = "
        "sm_120) need a build for CUDA 12.8 or newer; cards of Pascal and Volta were dropped from the "
        "newer CUDA builds.",
        "For Blackwell: `pip install torch --index-url https://download.pytorch.org/whl/cu128` (torch "
        "2.7 or newer; the default wheel of 2.7 lacks it). For an old card take a build for CUDA 12.6 "
        "(`cu126`), or an older release. Then reinstall vLLM, flash-attn and the like for that torch.",
    ),
    zh=Words(
        "{gpu} 为 {arch},已安装的 torch 没有对应的代码",
        "每个构建只包含一组架构的机器码。RTX 50 与 RTX PRO Blackwell(sm_120)需要 CUDA 12.8 及以上的构建;"
        "较新的 CUDA 构建已不支持 Pascal 和 Volta。",
        "Blackwell:`pip install torch --index-url https://download.pytorch.org/whl/cu128`(torch 2.7 及以"
        "上;2.7 的默认 wheel 不含它)。旧显卡使用 CUDA 12.6 的构建(`cu126`)或更旧的版本。随后为该 torch 重"
        "新安装 vLLM、flash-attn 等。",
    ),
)

LOG_MESSAGE_CUTLASS = Message(
    en=Words(
        "a CUTLASS kernel was written for {known} and this GPU is {card}",
        "Kernels of CUTLASS's Python DSL (FlashInfer, FlashAttention 4, vLLM's and SGLang's FP4 back ends) list the "
        "architectures that they know. GB10 of the DGX Spark is sm_121, a sister of the RTX 50's sm_120 that such "
        "lists leave out.",
        "Upgrade what brings the kernel: `pip install -U nvidia-cutlass-dsl flashinfer-python` and the newest vLLM or "
        "SGLang. Until it knows the card choose another backend: `--moe-backend marlin` or `triton`, "
        "`--attention-backend TRITON_ATTN`, or a checkpoint without FP4.",
    ),
    zh=Words(
        "某个 CUTLASS 内核面向 {known},而此 GPU 为 {card}",
        "CUTLASS Python DSL 的内核(FlashInfer、FlashAttention 4、vLLM 与 SGLang 的 FP4 后端)会列出所支持的架构。DGX "
        "Spark 的 GB10 为 sm_121,是 RTX 50 的 sm_120 的近亲,常不在列表中。",
        "升级提供该内核的包:`pip install -U nvidia-cutlass-dsl flashinfer-python` 以及最新的 vLLM 或 SGLang。在支持之前"
        "换用其他后端:`--moe-backend marlin` 或 `triton`、`--attention-backend TRITON_ATTN`,或使用非 FP4 的检查点。",
    ),
)

LOG_MESSAGE_PACKAGE = Message(
    en=Words(
        "{package} holds no kernel for this GPU's architecture",
        "The wheels of {package} hold machine code for a list of compute capabilities only. vLLM's start "
        "at 7.0 (Volta; 7.5 in newer releases), so GTX 10 and P100 cards (6.x, Pascal) are too old; its "
        "older wheels lack Blackwell (12.0), the newest cards.",
        "See the capability with the command below. An older card than 7.0 is not supported by vLLM: use "
        "another card, or build from source with TORCH_CUDA_ARCH_LIST set to it. For a newer card "
        "install the newest {package} and a torch for CUDA 12.8 or newer.",
    ),
    zh=Words(
        "{package} 没有适用于此 GPU 架构的内核",
        "{package} 的 wheel 只包含一组计算能力的机器码。vLLM 从 7.0(Volta;较新版本为 7.5)开始,因此 GTX "
        "10 和 P100(6.x,Pascal)太旧;较旧的 wheel 也不含最新的 Blackwell(12.0)。",
        "用下面的命令查看计算能力。低于 7.0 的显卡 vLLM 不支持:换用其他显卡,或将 TORCH_CUDA_ARCH_LIST 设"
        "为该架构后从源代码编译。较新的显卡请安装最新的 {package} 以及 CUDA 12.8 及以上的 torch。",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a kernel was started for which this GPU's architecture has no code",
        "torch, or an extension compiled for it, holds machine code for a list of compute capabilities, "
        "and this card is not among them: too new (Blackwell with a build older than CUDA 12.8) or too "
        "old (Pascal, Volta).",
        "See the capability with the command below, and `python -c 'import torch; "
        "print(torch.cuda.get_arch_list())'`. Blackwell needs a torch for cu128 or newer; old cards a "
        "`cu126` build. If torch has the architecture, rebuild the extension in the traceback for it "
        "(TORCH_CUDA_ARCH_LIST).",
    ),
    zh=Words(
        "启动了一个没有此 GPU 架构代码的内核",
        "torch 或为其编译的扩展只包含一组计算能力的机器码,而此显卡不在其中:太新(Blackwell 配 CUDA 12.8 之"
        "前的构建)或太旧(Pascal、Volta)。",
        "用下面的命令查看计算能力,并运行 `python -c 'import torch; print(torch.cuda.get_arch_list())'`。"
        "Blackwell 需要 cu128 及以上的 torch;旧显卡用 `cu126` 构建。若 torch 已包含该架构,请为其重新编译"
        "调用栈中的扩展(TORCH_CUDA_ARCH_LIST)。",
    ),
)

MESSAGE = Message(
    en=Words(
        "torch {version} (CUDA {cuda}) has no code for compute capability {capability}",
        "{gpu} cannot run it: the first kernel ends with `no kernel image is available for execution on the device`. "
        "The build holds {listed}.",
        "Install a torch build that holds {capability}.",
    ),
    zh=Words(
        "torch {version}(CUDA {cuda})不含计算能力 {capability} 的代码",
        "{gpu} 无法运行它:第一个 kernel 就会以 `no kernel image is available for execution on the device` 失败。"
        "该构建包含 {listed}。",
        "安装包含 {capability} 的 torch 构建。",
    ),
)


def _listed(packages: Packages, interpreter: Interpreter | None) -> tuple[tuple[str, ...], bool] | None:
    """Architectures of the wheel by its release and variant, and whether that is confirmed; None: not known."""
    build = packages.torch_build
    if build is None or not is_official(packages) or (interpreter is not None and interpreter.machine != "x86_64"):
        return None
    release = data.torch_release(build.version)
    if release is None:
        return None
    tag = cuda_tag(build)
    if release.cuda and tag == f"cu{release.cuda.replace('.', '')}":
        return (release.arch_list, release.arch_list_confidence == "confirmed") if release.arch_list else None
    listed = release.variants.get(tag) if tag else None
    return (listed, True) if listed else None


@check(PROBLEM)
def architecture_absent(
    packages: Packages,
    gpus: Gpus,
    deep: Deep | None,
    interpreter: Interpreter | None,
    training: Training | None,
    world: World | None,
) -> Judgement:
    """One finding a compute capability."""
    build = packages.torch_build
    cards = used_gpus(gpus, world)
    if build is None or build.cuda is None or not cards or trains_on_cpu(training, world):
        return
    asked = deep.torch_arch_list if deep is not None else ()
    known = (asked, True) if asked else _listed(packages, interpreter)
    if known is None:
        yield Skip(f"the architectures in torch {build.version} are not known; --deep asks torch")
        return
    told: set[tuple[int, int]] = set()
    for gpu in cards:
        if gpu.compute_capability is None:
            yield Skip(f"{gpu.label} does not report its compute capability")
        elif gpu.compute_capability not in told and not runs_on(gpu.compute_capability, known[0]):
            told.add(gpu.compute_capability)
            yield found(
                PROBLEM,
                MESSAGE,
                confidence=CONFIRMED if known[1] else LIKELY,
                where=Where(gpu=gpu.index),
                commands=_commands(build.version, gpu),
                evidence=(Evidence("torch's architectures", " ".join(known[0])),),
                version=build.version,
                cuda=build.cuda,
                capability=_text(gpu.compute_capability),
                gpu=gpu.label,
                listed=" ".join(known[0]),
            )


def _text(capability: tuple[int, int]) -> str:
    return f"{capability[0]}.{capability[1]}"


def _commands(version: str, gpu: Gpu) -> tuple[str, ...]:
    """Builds of the same release that have the card's code."""
    release = data.torch_release(version)
    if release is None or gpu.compute_capability is None:
        return ()
    fit = [tag for tag, listed in release.variants.items() if runs_on(gpu.compute_capability, listed)]
    return tuple(f'pip install --force-reinstall "torch=={public(version)}" --index-url {WHEELS}/{tag}' for tag in fit)


def explain(hits: Hits) -> Finding | None:
    """Torch's warning names card and architecture, CUTLASS those that its kernel has; the error alone does not."""
    if (unknown := hits.get("card")) and not hits.of(0):
        return found(
            PROBLEM, LOG_MESSAGE_CUTLASS, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, card=unknown,
            known=(hits.get("known") or "").replace("'", "`"),
        )  # fmt: skip
    warned = hits.of(1)
    card = warned[0].groups if warned else {}
    frames = [frame for hit in hits.of(0) for frame in hit.frames]
    inside = next((name for name in ("vllm", "xformers", "flash_attn", "bitsandbytes", "deepspeed", "sgl_kernel")
                   if any(f"/{name}/" in f"/{frame}" for frame in frames[-6:])), "")  # fmt: skip
    inside = "lmdeploy" if hits.get("turbomind") else inside
    if not hits.of(0) and not warned:
        return None
    return found(
        PROBLEM,
        LOG_MESSAGE_CARD if card else LOG_MESSAGE_PACKAGE if inside else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if card else LIKELY,
        severity=ERROR if hits.of(0) else WARNING,
        commands=("nvidia-smi --query-gpu=name,compute_cap --format=csv",),
        gpu=card.get("gpu"),
        arch=card.get("arch"),
        package=inside,
    )
