"""Unsloth cannot write or read the modules that it generates.

## What it means
On import Unsloth writes rewritten trainers and models into a folder (`unsloth_compiled_cache` in the working
directory) and imports them from there. A folder that is not writable, lies on a slow network disk, holds files of
another version, or is written by several ranks at once, makes that fail; so did releases of March 2025 by themselves.
## What it does to a run
`import unsloth` or the first trainer ends with "Failed to create dynamic compiled modules", "Cannot import", or a
missing module `unsloth_compiled_cache`.
## What to do
Delete the folder, put it on a local disk, and upgrade.
## How it is found
In a log: by Unsloth's exceptions.
## References
https://github.com/unslothai/unsloth/issues/1928
https://github.com/unslothai/unsloth/issues/1940
https://github.com/unslothai/unsloth/issues/3031
https://pypi.org/project/unsloth-zoo/2026.3.1/
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF037", name="unsloth-modules-not-compiled", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Unsloth: Failed to create dynamic compiled"),
    Signature(r"Unsloth: Cannot import (?:unsloth_compiled_cache\.)?\w{1,80}"),
    Signature(r"Unsloth: Failed to create directory `"),
    Signature(r"^ModuleNotFoundError: No module named 'unsloth_compiled_cache[\w.]{0,100}'"),
    # a half-written file, which several ranks write at once
    Signature(r"^AttributeError: module '(?P<trainer>Unsloth\w{1,60})' has no attribute '(?P=trainer)'"),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "Unsloth cannot import the modules that it writes into `unsloth_compiled_cache`",
        "It generates trainers and models as files in a folder of the working directory and imports them from "
        "there. The folder is not writable, on a slow shared disk, stale after an upgrade, or written by several "
        "ranks at once; some releases of March 2025 failed everywhere. It is no package of pip.",
        "Delete it (`rm -rf unsloth_compiled_cache`), upgrade (`pip install -U --no-deps unsloth unsloth_zoo`), and "
        "start again from a folder that can be written to. On a shared disk: `export "
        "UNSLOTH_COMPILE_LOCATION=/tmp/unsloth_compiled_cache`. With several processes start one alone first, which "
        "fills the folder, or give each its own: `export "
        "UNSLOTH_COMPILE_LOCATION=/tmp/unsloth_$LOCAL_RANK` in what every rank runs.",
    ),
    zh=Words(
        "Unsloth 无法导入它写入 `unsloth_compiled_cache` 的模块",
        "它把训练器和模型生成为工作目录下某个文件夹中的文件,再从那里导入。该文件夹不可写、位于缓慢的共享磁盘、"
        "升级后残留旧文件,或被多个 rank 同时写入;2025 年 3 月的个别版本则在任何环境都失败。它不是可用 pip 安装的包。",
        "删除它(`rm -rf unsloth_compiled_cache`),升级(`pip install -U --no-deps unsloth unsloth_zoo`),"
        "并在可写的目录中重新启动。共享磁盘上:`export UNSLOTH_COMPILE_LOCATION=/tmp/unsloth_compiled_cache`。"
        "多进程时先单独启动一个进程以写好该目录,或让每个 rank 使用自己的目录:`export "
        "UNSLOTH_COMPILE_LOCATION=/tmp/unsloth_$LOCAL_RANK`。",
    ),
)

LOG_COMMANDS = ("rm -rf unsloth_compiled_cache", "pip install -U --no-deps unsloth unsloth_zoo")
