"""Trinity-RFT continues a run of another configuration.

## What it means
The folder of a run keeps the configuration that it began with. A run with the same project, group and name in the same
`checkpoint_root_dir` continues it, and must have the same configuration.
## What it does to a run
The command ends before the first step.
## What to do
Another name, or the old configuration.
## How it is found
In a log, by the error of Trinity-RFT's state manager.
## References
https://modelscope.github.io/Trinity-RFT/en/main/tutorial/trinity_configs.html
https://github.com/modelscope/Trinity-RFT/blob/main/trinity/manager/state_manager.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRI014", name="configuration-of-earlier-run", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: The current config is inconsistent with the backup config in (?P<path>[^\n]{1,"
        r"300}?)\.?$",
    ),
)

LOG_CONFIDENCE = CONFIRMED

LOG_MESSAGE = Message(
    en=Words(
        "Trinity-RFT is to continue a run that began with another configuration (`{path}`)",
        "`checkpoint_root_dir`, `project`, `group` and `name` are those of an earlier run, so its state would"
        " be continued, and something in the configuration was changed since.",
        "Give the new run another `name` (or set `continue_from_checkpoint: false`), or restore what was "
        "changed: compare with the file that is named. Delete the folder only when the earlier run is not "
        "needed any more.",
    ),
    zh=Words(
        "Trinity-RFT 要继续的运行当初使用的是另一份配置(`{path}`)",
        "`checkpoint_root_dir`、`project`、`group` 与 `name` 与先前的运行相同,因此会继续其状态,而配置此后有过改动。",
        "给新运行换一个 `name`(或设置 `continue_from_checkpoint: false`),或恢复改动:与上述文件比较。"
        "仅当不再需要先前的运行时才删除该目录。",
    ),
)
