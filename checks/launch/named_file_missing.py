"""A file that the command names does not exist.

## What it means
The training script, or a configuration file that the command or another file names, is not where it is said to be.
## What it does to a run
The run ends as soon as the file is opened: at once for a script, after the imports for a configuration.
## What to do
Correct the path. Relative paths count from the folder where the command is started, not from the file that names them.
## How it is found
Every file that the command names is looked up; none is executed.
## References
https://huggingface.co/docs/accelerate/basic_tutorials/launch
https://huggingface.co/docs/transformers/deepspeed
"""

from __future__ import annotations

from doctor.checks.launch._broken_files import KINDS, MISSING, broken_files
from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import at, place_of
from doctor.core.signature import Signature
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.dataset import Dataset
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.model import Model
from doctor.facts.script import Script
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(id="LCH003", name="named-file-missing", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"can't open file '(?P<path>[^'\n]{1,300})': \[Errno 2\] "),)

LOG_MESSAGE = Message(
    en=Words(
        "the script `{path}` does not exist where the command looks for it",
        "A path that is not absolute counts from the folder in which the launcher was started, on "
        "every node and inside the container.",
        "Start from the folder that holds the script, or give the absolute path; check that the "
        "folder is mounted in the container and shared by all nodes.",
    ),
    zh=Words(
        "脚本 `{path}` 不在命令查找的位置",
        "相对路径从启动器所在的目录算起,在每个节点与容器内都是如此。",
        "在脚本所在目录启动,或给出绝对路径;确认该目录已挂载到容器并由所有节点共享。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`{file}` does not exist",
        "The run needs it as its {what} and ends when it is opened. Relative paths count from the folder where the "
        "command is started.",
        "Correct the path, or start the command from the folder that it counts from.",
    ),
    zh=Words(
        "`{file}` 不存在",
        "运行需要它({what}),打开它时就会退出。相对路径以启动命令的目录为准。",
        "改正路径,或在相对路径所对应的目录下启动命令。",
    ),
)

VERL_DATA = Message(
    en=Words(
        "`{key}` names `{file}`, which this machine does not have",
        "veRL reads it in a worker of Ray, after the cluster came up, and ends with FileNotFoundError. It can only "
        "exist where the workers run on other machines or in another container.",
        "Correct the path, write it in full, or prepare the data first (`examples/data_preprocess` in veRL's "
        "repository).",
    ),
    zh=Words(
        "`{key}` 指定的 `{file}` 在本机上不存在",
        "veRL 在 Ray 集群启动之后由 worker 读取它,届时以 FileNotFoundError 退出。只有当 worker 运行在其他机器或容器中时"
        "它才可能存在。",
        "改正路径,写成绝对路径,或先准备数据(veRL 仓库的 `examples/data_preprocess`)。",
    ),
)

#: of veRL, where Ray may look on another machine
OF_VERL = {"data.train_files", "data.val_files"}


@check(PROBLEM)
def named_file_missing(
    script: Script | None,
    accelerate: AccelerateConfig | None,
    deepspeed: DeepspeedConfig | None,
    training: Training | None,
    verl: VerlConfig | None,
    trinity: TrinityConfig | None,
    model: Model | None,
    dataset: Dataset | None,
) -> Judgement:
    """Yield for every file that is not there."""
    for kind, broken in broken_files(locals()):
        if MISSING in broken.message:
            path = broken.place.file
            name, place = path.rpartition("/")[2], at(broken.place)
            evidence = (Evidence("path", path),)
            yield found(PROBLEM, MESSAGE, file=name, what=KINDS[kind], where=place, evidence=evidence)
    for setting in verl.absent if verl is not None else ():
        if setting.name in OF_VERL:
            yield found(
                PROBLEM, VERL_DATA, confidence=LIKELY, where=place_of(setting), evidence=(proof(setting),),
                file=setting.value, key=setting.name,
            )  # fmt: skip
