"""The configuration file given to `accelerate launch` does not exist.

## What it means
`--config_file` takes a path relative to the working directory; inside a job, a container or another folder
it points elsewhere.
## What it does to a run
`accelerate launch` ends before it starts a process.
## What to do
Give an absolute path, or write the file with `accelerate config`.
## How it is found
In a log: by the exception of the launcher.
## References
https://huggingface.co/docs/accelerate/package_reference/cli
https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/commands/config/config_args.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="ACC015", name="accelerate-config-file-absent", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"FileNotFoundError: The passed configuration file `(?P<path>[^`\n]{1,300})` does not exist"),)

LOG_MESSAGE = Message(
    en=Words(
        "`accelerate launch` was given a configuration file that is not there: `{path}`",
        "A relative path is looked for in the working directory of the job, not beside the script.",
        "Give `--config_file` an absolute path, check that the job's machine sees it, or write one with "
        "`accelerate config --config_file {path}`.",
    ),
    zh=Words(
        "交给 `accelerate launch` 的配置文件不存在:`{path}`",
        "相对路径在作业的工作目录中查找,而不是在脚本旁边。",
        "为 `--config_file` 给出绝对路径,确认作业所在机器能看到它,或用 `accelerate config --config_file {path}` 生成。",
    ),
)
