"""What kind of problem an unknown exception is, by its type: what that kind usually means and what to try first."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """Whole sentences about one kind of failure, in English and Chinese: what it is, and what to do first."""

    what: str
    what_zh: str
    first: str
    first_zh: str


IMPORT = Kind(
    "This kind is a matter of installation: a package is missing, broken, or made for another version of its "
    "neighbour.",
    "这类失败属于安装问题:缺少包、包已损坏,或与相邻包的版本不匹配。",
    "Run `doctor check` in the same environment; compare the versions of the package that imports and of the "
    "one that is imported.",
    "在同一环境中运行 `doctor check`,核对导入方与被导入包的版本。",
)
ARGUMENT = Kind(
    "This kind comes from a call that does not fit the installed version: an argument was renamed, removed or "
    "not there yet.",
    "这类失败通常因为调用方式与已安装版本不符:参数被改名、删除或尚不存在。",
    "Compare the call in your own code with the signature in the installed version, or install the version the "
    "code was written for.",
    "将自己代码中的调用与已安装版本的函数签名对照,或安装代码所针对的版本。",
)
CONFIGURATION = Kind(
    "A library refused a value it was given; the settings that lead there are the place to look.",
    "库拒绝了传入的值,应检查相关设置。",
    "Look up what the refusing function expects and compare it with the configuration and launch command.",
    "查明拒绝该值的函数期望什么,并与配置和启动命令对照。",
)
OWN_CODE = Kind(
    "It was raised in your own code, not in a library.",
    "异常出自用户自己的代码,而非库。",
    "Start with the innermost frame of your own code that is named above, with the data it had at that step.",
    "从上面给出的自己代码的最内层栈帧入手,检查当时的数据。",
)
CUDA = Kind(
    "A CUDA error is reported late: the call that shows it need not be the one that caused it.",
    "CUDA 错误是异步上报的:报错的调用未必是出错的调用。",
    "Run once more with `CUDA_LAUNCH_BLOCKING=1` so that the traceback points at the call that failed.",
    "用 `CUDA_LAUNCH_BLOCKING=1` 重跑一次,使回溯指向真正出错的调用。",
)
MEMORY = Kind(
    "Memory ran out; the traceback shows who asked last, not who holds it.",
    "内存或显存耗尽;回溯显示的是最后一次申请者,而非占用者。",
    "Note the sizes in the message, then lower batch size, sequence length or the share that vLLM reserves.",
    "记下消息中的大小,然后减小批大小、序列长度或 vLLM 预留的比例。",
)
NETWORK = Kind(
    "A connection failed: the other side is not there, or something between refuses it.",
    "连接失败:对端不存在,或中间环节拒绝连接。",
    "Check that the other side runs and listens at that address, and what `http_proxy` and `no_proxy` say.",
    "确认对端正在该地址监听,并检查 `http_proxy` 与 `no_proxy`。",
)
FILES = Kind(
    "A file or folder is not there, not readable, or not what it should be.",
    "文件或目录不存在、不可读,或内容不符。",
    "Check the path from the machine and container where the process ran, its permissions and the free space.",
    "在进程所在的机器和容器中检查该路径、权限与剩余空间。",
)
OTHER = Kind(
    "Its type alone does not tell what kind of problem it is.",
    "仅凭类型无法判断属于哪类问题。",
    "Read the traceback in the evidence from its innermost frame outwards.",
    "从最内层栈帧开始阅读依据中的回溯。",
)

_BY_TYPE = (
    (re.compile(r"ImportError|ModuleNotFound|undefined symbol|DLL"), IMPORT),
    (re.compile(r"OutOfMemory|MemoryError|OOM"), MEMORY),
    (re.compile(r"AcceleratorError|Cuda|CUDA|CUDNN|NVML"), CUDA),
    (re.compile(r"Connection|Timeout|HTTP|URL|SSL|Socket|Proxy|Remote"), NETWORK),
    (re.compile(r"FileNotFound|Permission|IsADirectory|NotADirectory|FileExists|OSError|IOError|Safetensor"), FILES),
)


def kind_of(exception: str, *, own_code: bool) -> Kind:
    """The kind of an exception; `own_code`: whether its innermost frame is the user's own."""
    for pattern, kind in _BY_TYPE:
        if pattern.search(exception):
            return kind
    if own_code:
        return OWN_CODE
    if exception in ("TypeError", "AttributeError"):
        return ARGUMENT
    if exception in ("ValueError", "AssertionError", "KeyError", "NotImplementedError") or "Config" in exception:
        return CONFIGURATION
    return OTHER
