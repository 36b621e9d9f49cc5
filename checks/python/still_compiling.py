"""A package is being compiled while it is installed, and the log ends there.

## What it means
No ready-made wheel fitted this Python, torch and CUDA, so the installer compiles the package on this machine. For
flash-attn, apex or Transformer Engine that takes from minutes to hours, without a word in between.
## What it does to a run
Nothing seems to happen after `Building wheel`; it is work, not a hang, as long as compilers run.
## What to do
Install the wheel that fits, or give the build more compilers and time.
## How it is found
In a log: by pip's or uv's last words, where no end of the build follows.
## References
https://github.com/Dao-AILab/flash-attention#installation-and-features
https://github.com/Dao-AILab/flash-attention/releases
https://github.com/datawhalechina/self-llm/issues/99
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PYT053", name="still-compiling", severity=WARNING, since="0.1")

SIGNATURES = (
    Signature(
        r"^\s{0,6}Building wheel for (?P<package>flash[-_]attn|apex|transformer[-_]engine(?:[-_]torch)?|vllm|xformers|"
        r"deepspeed|causal[-_]conv1d|mamba[-_]ssm|grouped[-_]gemm|deep[-_]ep) \([\w.]{1,20}\)"
        r"(?: \.\.\. {0,2}[-\\|/]?|: (?:started|still running\.\.\.))$",
        keywords=("Building wheel for ",),
        kind="warning",
        symptom_of=("PYT", "FLA", "CUD", "MEM", "TOR", "HST", "DSP", "CKP"),
    ),
    Signature(
        r"^\s{0,6}Building wheel for [\w.\-]{1,60} \([\w.]{1,20}\)"
        r"(?: \.\.\.[ \-\\|/]{0,400}(?:done|error)|: finished)|^Successfully (?:built|installed) ",
        keywords=("Building wheel for ", "Successfully built", "Successfully installed"),
        kind="sign",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{package}` is being compiled on this machine, and the log ends there",
        "No ready-made wheel fits this Python, torch and CUDA (or it could not be downloaded from GitHub), so every "
        "kernel is compiled here. That takes minutes with many cores and hours with few, and nothing is printed "
        "meanwhile. Few compilers run at once without `ninja`, and many fill the memory.",
        "`top` shows nvcc or cicc at work: then wait. Faster: take the wheel of the release page that fits "
        "`python -c 'import torch, sys; print(sys.version[:4], torch.__version__, torch.version.cuda, "
        "torch._C._GLIBCXX_USE_CXX11_ABI)'` and `pip install FILE.whl` (for a machine that does not reach GitHub bring "
        "it along). Else `pip install ninja packaging`, then `MAX_JOBS=8 pip install -v {package} "
        "--no-build-isolation`, which shows its progress (every job takes several GB of memory), and for one card only "
        "its architecture (`TORCH_CUDA_ARCH_LIST`, flash-attn: `FLASH_ATTN_CUDA_ARCHS=80`).",
    ),
    zh=Words(
        "正在本机编译 `{package}`,日志到此为止",
        "没有适合此 Python、torch 与 CUDA 的预编译 wheel(或无法从 GitHub 下载),因此要在本机编译全部内核。核多时需几分"
        "钟,核少时要几个小时,期间没有任何输出。没有 `ninja` 时同时编译很少,并行太多又会耗尽内存。",
        "`top` 中能看到 nvcc 或 cicc 在工作就等待。更快的办法:从发布页选择与 `python -c 'import torch, sys; "
        "print(sys.version[:4], torch.__version__, torch.version.cuda, torch._C._GLIBCXX_USE_CXX11_ABI)'` 相符的 "
        "wheel,`pip install FILE.whl`(无法访问 GitHub 的机器先在别处下载)。否则 `pip install ninja packaging`,再 "
        "`MAX_JOBS=8 pip install -v {package} --no-build-isolation` 以显示进度(每个任务需要数 GB 内存),并只编译所用显卡"
        "的架构(`TORCH_CUDA_ARCH_LIST`,flash-attn:`FLASH_ATTN_CUDA_ARCHS=80`)。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Nothing where the build came to an end, well or not."""
    last = max(hits, key=lambda each: each.line)
    if last.signature:
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        package=last.groups["package"].replace("_", "-"),
    )  # fmt: skip
