"""A file that was compiled during the run cannot be loaded where it lies.

## What it means
Inductor, Triton and torch's extensions compile to shared libraries below /tmp or the home folder. A file system
mounted noexec, or a security module, lets nobody run code from there.
## What it does to a run
The first compiled call fails.
## What to do
Move the caches to a folder on a file system that allows execution.
## How it is found
In a log: by the dynamic linker's words.
## References
https://github.com/pytorch/pytorch/issues/91005
https://man7.org/linux/man-pages/man8/mount.8.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR049", name="compiled-file-refused", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"(?P<path>/[^\s':]{1,300}\.so)(?:\.\d{1,3})?: failed to map segment from shared object"),)

LOG_MESSAGE = Message(
    en=Words(
        "`{path}` may not be executed where it lies: most likely its file system is mounted noexec",
        "The dynamic linker could not map the code. Folders such as /tmp, /dev/shm and homes on hardened "
        "machines and clusters are mounted with `noexec`, and compiled kernels of Inductor, Triton or "
        "extensions lie there. Rarer: no memory left for the mapping, or SELinux.",
        "`findmnt -T {path} -o TARGET,OPTIONS` shows `noexec`. Put the caches on another file system: `export "
        "TMPDIR=$HOME/tmp TORCHINDUCTOR_CACHE_DIR=$HOME/.cache/inductor TRITON_CACHE_DIR=$HOME/.cache/triton "
        "TORCH_EXTENSIONS_DIR=$HOME/.cache/torch_extensions` (make the folders), or have it mounted anew "
        "(`mount -o remount,exec /tmp`; docker: `--tmpfs /tmp:exec`). Or go without compilation: "
        "`TORCHDYNAMO_DISABLE=1`.",
    ),
    zh=Words(
        "`{path}` 所在位置不允许执行:其文件系统多半以 noexec 挂载",
        "动态链接器无法映射代码。在加固的机器与集群上,/tmp、/dev/shm 与主目录常以 `noexec` 挂载,而 Inductor、"
        "Triton 或扩展编译出的内核就放在那里。少数情况是映射时内存不足,或 SELinux。",
        "`findmnt -T {path} -o TARGET,OPTIONS` 会显示 `noexec`。把缓存放到其他文件系统:`export "
        "TMPDIR=$HOME/tmp TORCHINDUCTOR_CACHE_DIR=$HOME/.cache/inductor TRITON_CACHE_DIR=$HOME/.cache/triton "
        "TORCH_EXTENSIONS_DIR=$HOME/.cache/torch_extensions`(先建好目录),或重新挂载(`mount -o remount,exec "
        "/tmp`;docker:`--tmpfs /tmp:exec`)。也可不使用编译:`TORCHDYNAMO_DISABLE=1`。",
    ),
)

LOG_CONFIDENCE = LIKELY
