"""psutil was imported out of another package's folder and does not find itself.

## What it means
Ray brings a copy of psutil along, in a folder that it puts on the path of its processes. psutil looks itself up as
`psutil` among the loaded modules; where that entry was taken out again, or the copy came in under another name, every
question about a process fails.
## What it does to a run
KeyError wherever a process is looked at, often while a framework cleans up after another failure.
## What to do
Install psutil itself, and look for what failed before.
## How it is found
In a log: by the exception in psutil's own file.
## References
https://github.com/giampaolo/psutil/issues/2106
https://github.com/areal-project/AReaL/issues/1065
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="PYT054", name="psutil-of-another-package", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"^KeyError: 'psutil'", frame=r"psutil[\\/]_common\.py:get_procfs_path$"),)

LOG_MESSAGE = Message(
    en=Words(
        "psutil was loaded from another package's folder and does not find itself",
        "Ray carries a copy of psutil (`ray/thirdparty_files`), others copy it into a folder of theirs. The copy looks "
        "for the module `psutil`, which is not registered under that name here.",
        "`python -m pip install psutil` in this environment, on all nodes, and `import psutil` before `import ray` in "
        "code of your own. Where a framework was cleaning up when it was raised (AReaL: `Error cleaning up worker`), "
        "it is not what ended the run: look above and in the workers' logs for the first failure.",
    ),
    zh=Words(
        "psutil 是从另一个包的目录加载的,找不到它自己",
        "Ray 自带一份 psutil(`ray/thirdparty_files`),也有项目把它复制到自己的目录。这份副本会查找名为 `psutil` "
        "的模块,而此处没有以该名称注册。",
        "在所有节点的该环境中执行 `python -m pip install psutil`,自己的代码中在 `import ray` 之前 `import psutil`。"
        "若异常发生在框架清理时(AReaL:`Error cleaning up worker`),它不是运行结束的原因:请在上文和各 worker "
        "的日志中查找最初的失败。",
    ),
)

LOG_COMMANDS = ("python -m pip install psutil",)

LOG_CONFIDENCE = LIKELY
