"""A file of the cache of Triton or torch.compile is missing or broken.

## What it means
Compiled kernels are kept in ~/.triton/cache, in torchinductor's folder under /tmp and in
~/.cache/vllm/torch_compile_cache. Processes on several machines that share the folder over a network file
system, a job that clears it while others run, and a full disk leave half of it.
## What it does to a run
The process ends with a file that is not there or cannot be read.
## What to do
Clear the cache and give each machine, or each job, a folder of its own on a local disk.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/triton-lang/triton/issues/11512
https://github.com/triton-lang/triton/issues/4002
https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_configuration_tutorial.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR024", name="compile-cache-broken", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:FileNotFoundError|OSError): [^'\n]{0,120}'?(?P<path>/[^'\n:]{0,300}(?:\.triton/(?:cache|d"
        r"ump)|torchinductor_[^/\n]{1,60}|torch_compile_cache)/[^'\n:]{0,300})",
    ),
    Signature(
        r"PermissionError: \[WinError (?:5|32)\] [^\n]{0,200}(?P<path>torchinductor_\w{1,60}|\.triton[\\/]{1,2}cache)",
    ),
    Signature(
        r"(?:JSONDecodeError|EOFError|UnpicklingError):"
        r" [^\n]{0,300}(?P<path>\.triton/cache|torchinductor_|torch_compile_cache)",
    ),
    # a cache folder of one's own name, on a network file system
    Signature(r"OSError: \[Errno 16\] Device or resource busy", frame=r"triton[\\/]runtime[\\/]cache\.py:"),
)

LOG_MESSAGE = Message(
    en=Words(
        "a file of the compile cache is missing or broken",
        "Triton and torch.compile keep compiled kernels on disk. The folder was cleared under the run, "
        "is shared over a network file system by several machines, or the disk was full.",
        "Delete the caches (`rm -rf ~/.triton/cache /tmp/torchinductor_$USER "
        "~/.cache/vllm/torch_compile_cache`) and give each machine or job its own on a local disk: "
        "TRITON_CACHE_DIR, TORCHINDUCTOR_CACHE_DIR, VLLM_CACHE_ROOT. Check free space with `df -h`.",
    ),
    zh=Words(
        "编译缓存中的文件缺失或损坏",
        "Triton 和 torch.compile 把编译好的内核保存在磁盘上。该目录在运行中被清空、被多台机器通过网络文件"
        "系统共享,或磁盘已满。",
        "删除缓存(`rm -rf ~/.triton/cache /tmp/torchinductor_$USER ~/.cache/vllm/torch_compile_cache`),并"
        "为每台机器或每个作业在本地磁盘设置单独的目录:TRITON_CACHE_DIR、TORCHINDUCTOR_CACHE_DIR、"
        "VLLM_CACHE_ROOT。用 `df -h` 检查剩余空间。",
    ),
)

LOG_CONFIDENCE = LIKELY
