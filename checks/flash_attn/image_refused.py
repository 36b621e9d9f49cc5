"""The driver refuses flash-attn's kernels.

## What it means
The wheel of flash-attn, or the one that was compiled here, holds code that this driver or card cannot load: built
with a newer CUDA than the driver supports, or for other architectures. Release 2.8.1 is known for it on drivers of
CUDA 12.2.
## What it does to a run
The first attention ends with `device kernel image is invalid` or `no kernel image is available`, while torch's own
kernels work.
## What to do
Install a build that fits torch, CUDA and driver, or use `sdpa`.
## How it is found
In a log: by the CUDA error with flash-attn in the traceback, or in the file that flash-attn's error names.
## References
https://github.com/Dao-AILab/flash-attention/issues/1749
https://github.com/verl-project/verl/issues/5876
https://github.com/hiyouga/LlamaFactory/issues/10132
https://github.com/ostris/ai-toolkit/issues/475
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="FLA009", name="image-refused", severity=ERROR, since="0.1")

_FRAME = r"flash_attn(?:_interface)?(?:[\\/]\w{1,60})?(?:\.py)?:"

SIGNATURES = (
    Signature(r"CUDA error: device kernel image is (?P<how>invalid)", frame=_FRAME),
    Signature(
        r"CUDA error \((?P<source>[^)\n]{0,200})(?:flash|fmha)_(?:fwd|bwd)_launch_template\.h:\d{1,5}\): "
        r"(?:no kernel image is |device kernel image is )(?P<how>available|invalid)"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the installed flash-attn holds no kernel that this GPU and driver can load",
        "{why} torch's own kernels are not concerned, nor is the model.",
        "Look at `nvidia-smi` (driver, card) and `pip show flash-attn`, and install a build that fits both and "
        "torch's CUDA: `pip uninstall -y flash-attn`, then the wheel of your torch, CUDA and Python from "
        "https://github.com/Dao-AILab/flash-attention/releases (2.8.3, or 2.8.0.post2 with older drivers), or build it "
        "here: `pip install --no-build-isolation --no-cache-dir --no-binary flash-attn flash-attn`. Until then "
        '`attn_implementation="sdpa"`.',
    ),
    zh=Words(
        "已安装的 flash-attn 中没有该 GPU 和驱动能加载的内核",
        "{why_zh}与 torch 自己的内核和模型无关。",
        "查看 `nvidia-smi`(驱动、显卡)和 `pip show flash-attn`,安装与二者及 torch 的 CUDA 都匹配的构建:先 `pip "
        "uninstall -y flash-attn`,再从 https://github.com/Dao-AILab/flash-attention/releases 安装对应 torch、CUDA、"
        "Python 的 wheel(2.8.3;驱动较旧时用 2.8.0.post2),或在本机编译:`pip install --no-build-isolation "
        '--no-cache-dir --no-binary flash-attn flash-attn`。在此之前可用 `attn_implementation="sdpa"`。',
    ),
)

#: xformers is built with a copy of FlashAttention's code; the path of its build tells
LOG_MESSAGE_XFORMERS = Message(
    en=Words(
        "the FlashAttention code inside of xformers has no kernel that this GPU and driver can load",
        "xformers is built with a copy of its own of FlashAttention 2 and 3; the package flash-attn has no part in "
        "it. {why}",
        "See what it has for this card: `python -m xformers.info`. Install the newest xformers that was built for the "
        "installed torch (`pip install -U xformers`, or build it here for this card: `TORCH_CUDA_ARCH_LIST=12.0 pip "
        "install --no-build-isolation --no-binary xformers xformers`), or go without it: `pip uninstall xformers`, or "
        "`sdpa` in place of xformers in the program's options.",
    ),
    zh=Words(
        "xformers 内含的 FlashAttention 代码中没有该 GPU 和驱动能加载的内核",
        "xformers 编译时带有自己的一份 FlashAttention 2 和 3,与 flash-attn 包无关。{why_zh}",
        "查看它对此显卡的支持:`python -m xformers.info`。安装针对当前 torch 构建的最新 xformers(`pip install -U "
        "xformers`,或为此显卡在本机编译:`TORCH_CUDA_ARCH_LIST=12.0 pip install --no-build-isolation --no-binary "
        "xformers xformers`),或不用它:`pip uninstall xformers`,或在程序选项中用 `sdpa` 代替 xformers。",
    ),
)

_INVALID = (
    "The driver cannot load the code: it was built with a newer CUDA than the driver supports, or the file is damaged.",
    "驱动无法加载其中的代码:构建所用的 CUDA 比驱动支持的新,或文件损坏。",
)
_ABSENT = (
    (
        "It was built for other architectures: FlashAttention 2 needs Ampere or newer, FlashAttention 3 runs on Hopper "
        "alone, and many wheels hold nothing for consumer Blackwell (sm_120)."
    ),
    (
        "它是为其他架构构建的:FlashAttention 2 需要 Ampere 及以上,FlashAttention 3 只支持 Hopper,"
        "许多 wheel 不含消费级 Blackwell(sm_120)的代码。"
    ),
)


def explain(hits: Hits) -> Finding:
    """Code of a newer CUDA is refused as invalid; code for another card is not there."""
    message = LOG_MESSAGE_XFORMERS if "xformers" in (hits.get("source") or "") else LOG_MESSAGE
    why, why_zh = _INVALID if hits.get("how") == "invalid" else _ABSENT
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        why=why, why_zh=why_zh,
    )  # fmt: skip
