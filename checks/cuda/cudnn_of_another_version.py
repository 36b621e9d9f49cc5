"""The cuDNN that was loaded is not the one that torch was built with.

## What it means
torch comes with its own cuDNN. Another copy is loaded when a folder of LD_LIBRARY_PATH, a conda package or
a separately installed nvidia-cudnn package is found first; its parts may not even be of one version.
## What it does to a run
torch refuses it, or the first convolution or attention that uses it fails.
## What to do
Take the foreign copy out of the way, or reinstall torch with the one it wants.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/pytorch/pytorch/blob/v2.9.0/torch/backends/cudnn/__init__.py
https://github.com/pytorch/pytorch/pull/81881
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="CUD008", name="cudnn-of-another-version", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"cuDNN version incompatibility: PyTorch was compiled {1,3}against \((?P<built>[\d,"
        r" ]{3,20})\) but found runtime version \((?P<found>[\d, ]{3,20})\)",
    ),
    Signature(
        r"(?:Could not load library|Unable to load any of \{|Could not load symbol \w{1,60}"
        r" from)[^\n]{0,60}libcudnn_?\w{0,40}\.so(?![^\n]{0,20} Error: libcuda\.so)",
    ),
    Signature(
        r"(?:cuDNN error:|cudnn_status:) CUDNN_STATUS_(?:SUBLIBRARY_VERSION_MISMATCH|SUBLIBRARY_LOADING_FAILED|"
        r"VERSION_MISMATCH)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "torch was built with cuDNN {built} and got {runtime}",
        "An older cuDNN lies in front of torch's own: in LD_LIBRARY_PATH, in conda, in the system, or as "
        "a nvidia-cudnn package that was changed by itself.",
        "Start without it: `env -u LD_LIBRARY_PATH python ...`. If the package is wrong, `pip install "
        "--force-reinstall torch` brings the right nvidia-cudnn back.",
    ),
    zh=Words(
        "torch 针对 cuDNN {built} 构建,实际得到 {runtime}",
        "较旧的 cuDNN 排在 torch 自带的之前:LD_LIBRARY_PATH、conda、系统,或单独更换过的 nvidia-cudnn 包。",
        "去掉它再启动:`env -u LD_LIBRARY_PATH python ...`。若是包的问题,`pip install --force-reinstall "
        "torch` 会恢复正确的 nvidia-cudnn。",
    ),
)

LOG_MESSAGE_PART = Message(
    en=Words(
        "a part of cuDNN cannot be loaded or is of another version than the rest",
        "cuDNN is made of several libraries that must be of one version. Some came from torch's wheel "
        "and others from LD_LIBRARY_PATH, conda or the system, or some are missing.",
        "Start with an empty LD_LIBRARY_PATH (`env -u LD_LIBRARY_PATH python ...`); if that fails "
        "reinstall: `pip install --force-reinstall torch` (it brings nvidia-cudnn of its version).",
    ),
    zh=Words(
        "cuDNN 的某个部分无法加载,或与其余部分版本不同",
        "cuDNN 由多个必须同一版本的库组成。其中一些来自 torch 的 wheel,另一些来自 LD_LIBRARY_PATH、conda "
        "或系统,或者缺少某些库。",
        "用空的 LD_LIBRARY_PATH 启动(`env -u LD_LIBRARY_PATH python ...`);若仍失败,重装:`pip install "
        "--force-reinstall torch`(会带来相应版本的 nvidia-cudnn)。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only torch's own check tells both versions."""
    told = hits.get("built")
    return found(
        PROBLEM,
        LOG_MESSAGE if told else LOG_MESSAGE_PART,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if told else LIKELY,
        built=(told or "").replace(", ", "."),
        runtime=(hits.get("found") or "").replace(", ", "."),
    )
