"""SGLang's way to free GPU memory between rollouts is not in place.

## What it means
Trainers that share GPUs with SGLang need torch_memory_saver. Its library has to be loaded before the process starts
(LD_PRELOAD), which SGLang sets for its schedulers when `enable_memory_saver` is on; a build without the compiled part,
a variable that a wrapper overwrites, or a CUDA library that the loader cannot find break it.
## What it does to a run
The engine ends at its start, or keeps its memory, and the training step runs out of it.
## What to do
Install the compiled package for this torch and leave LD_PRELOAD to it.
## How it is found
In a log: by the words of torch_memory_saver and SGLang.
## References
https://github.com/fzyzcjy/torch_memory_saver/issues/33
https://github.com/fzyzcjy/torch_memory_saver/pull/64
https://github.com/THUDM/slime/issues/2018
https://github.com/sgl-project/sglang/issues/4985
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="MEM027", name="memory-saver-not-loaded", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"TorchMemorySaver observes invalid LD_PRELOAD",
    ),
    Signature(
        r"Only hook_mode=preload supports pauseable CUDA Graph",
    ),
    Signature(
        r"enable_memory_saver is enabled, but torch-memory-saver is not installed",
        kind="warning",
    ),
    Signature(
        r"(?:AttributeError: (?:partially initialized )?module 'torch_memory_saver(?:\.\w{1,40})?' has no attribute"
        r"|AttributeError: '_?TorchMemorySaver\w{0,20}' object has no attribute"
        r"|ImportError: cannot import name) '(?P<name>\w{1,60})'",
        frame=r"torch_memory_saver|memory_saver",
    ),
    Signature(
        r"TypeError: (?:_?TorchMemorySaver\w{0,20}\.)?(?:region|pause|resume|cuda_graph)\(\) got an unexpected keyword"
        r" argument '(?P<name>tag|enable_cpu_backup|cuda_graph)'"
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_COMMANDS = ("pip install --force-reinstall --no-cache-dir torch-memory-saver",)

LOG_MESSAGE = Message(
    en=Words(
        "torch_memory_saver is not loaded into this process, so SGLang cannot free its GPU memory",
        "Its library must be in LD_PRELOAD when the process starts. SGLang sets that for its schedulers; "
        "here the variable is empty or overwritten (a launcher, another preloaded library, a process "
        "that was forked before), the package has no compiled part, or it is not installed.",
        "Install it in the environment of the engine, compiled for this torch: `pip install "
        "--force-reinstall --no-cache-dir torch-memory-saver` (0.0.9 or newer copes with other libraries "
        "in LD_PRELOAD). Take LD_PRELOAD of your own out of scripts and Ray's runtime environment. For a "
        "process of your own use `torch_memory_saver.configure_subprocess()` around its start. Without "
        "it: turn the memory saver off and give the engine GPUs of its own.",
    ),
    zh=Words(
        "本进程没有加载 torch_memory_saver,SGLang 无法释放其显存",
        "它的库必须在进程启动时位于 LD_PRELOAD。SGLang 会为自己的调度进程设置它;此处该变量为空或被覆盖(启"
        "动器、另一个预加载库、提前 fork 的进程),该包没有编译部分,或没有安装。",
        "在引擎所在环境安装与当前 torch 对应的编译版:`pip install --force-reinstall --no-cache-dir "
        "torch-memory-saver`(0.0.9 及以上可与 LD_PRELOAD 中的其他库共存)。去掉脚本与 Ray runtime_env 中自"
        "己的 LD_PRELOAD。自行启动的进程请用 `torch_memory_saver.configure_subprocess()` 包住启动。若不用"
        "它:关闭 memory saver,并给引擎单独的 GPU。",
    ),
)

RELEASE = Message(
    en=Words(
        "the installed torch_memory_saver does not fit SGLang: `{name}` is not there",
        "SGLang uses the package's interface of its own time, and that changed between releases (0.0.8 brought the "
        "ready-made object, later ones tags and copies on the CPU). It is imported also where the memory saver is off.",
        "Install the release that this SGLang names: `pip install -U torch-memory-saver` for a new SGLang, else the "
        'one in its pyproject.toml (`pip show sglang` tells the release; `pip install "sglang[all]==VERSION"` brings '
        "both). For an older torch_memory_saver that must stay, take the older SGLang.",
    ),
    zh=Words(
        "所装的 torch_memory_saver 与 SGLang 不匹配:没有 `{name}`",
        "SGLang 使用该包当时的接口,而接口在各版本间有变化(0.0.8 引入现成对象,之后引入 tag 与 CPU 备份)。即使没有打开 "
        "memory saver 也会导入它。",
        "安装该 SGLang 所指定的版本:新版 SGLang 用 `pip install -U torch-memory-saver`,否则取其 pyproject.toml 中的版本"
        '(`pip show sglang` 给出版本;`pip install "sglang[all]==VERSION"` 同时安装两者)。必须保留旧 torch_memory_saver '
        "时,使用更旧的 SGLang。",
    ),
)


def explain(hits: Hits) -> Finding:
    """A release of another time, or a library that is not loaded."""
    if name := hits.get("name"):
        return found(PROBLEM, RELEASE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=name)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, commands=LOG_COMMANDS
    )
