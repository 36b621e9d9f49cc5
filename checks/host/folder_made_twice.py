"""A folder that the program makes is there already.

## What it means
`os.mkdir` and `os.makedirs` refuse a path that exists, unless `exist_ok=True` allows it. Under several ranks every
process runs the same line: one makes the folder, the others find it.
## What it does to a run
FileExistsError on all ranks but one, or at the second start into the same folder; the run ends.
## What to do
Let one rank make it, or allow that it exists; take another folder for another run.
## How it is found
In a log: by the FileExistsError of a line that makes a folder.
## References
https://docs.python.org/3/library/os.html#os.makedirs
https://github.com/meta-llama/llama-cookbook/issues/408
https://github.com/allenai/allennlp/issues/3841
https://github.com/OpenNMT/OpenNMT-py/issues/1495
https://github.com/huawei-bayerlab/marigold-v2/pull/7
https://github.com/mlcommons/storage/issues/699
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="HST030", name="folder-made-twice", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"FileExistsError: \[(?:Errno 17|WinError 183)\] [^'\n]{1,80}: '(?P<folder>[^'\n]{1,300})'$",
        symptom_of=("CKP", "HST016", "HST017"),
    ),
)

#: the line that was running, or the function of the library that makes folders
_MAKES = re.compile(r"\b(?:mkdirs?|makedirs|create_dirs?|make_dirs?)\(")
_MAKER = re.compile(r"(?:^|[\\/])(?:os|pathlib|_local)\.py:(?:mkdir|makedirs)$|<frozen os>:makedirs$")
_ALLOWED = re.compile(r"exist_ok\s*=\s*True")

TWICE = Message(
    en=Words(
        "the folder `{folder}` was to be made, and it is there already",
        "Under several ranks every process runs that line: the first makes the folder and the others fail, now and "
        "then or always. Otherwise it is left over from an earlier start with the same name, output folder or second "
        "of the clock.",
        "In the code of the traceback: `os.makedirs(path, exist_ok=True)`, or only on rank 0 (`if "
        "int(os.environ.get('RANK', 0)) == 0:`) with a barrier after it. In a library upgrade it, or make the folder "
        "before the start: `mkdir -p` where the code first looks whether it is there, else move the old one away "
        "(it may hold results: `ls {folder}`). A name with a time stamp must come from one rank.",
    ),
    zh=Words(
        "要创建的目录 `{folder}` 已经存在",
        "多个 rank 时每个进程都执行该行:第一个创建目录,其余失败,可能偶发也可能必现。否则是先前以相同名称、"
        "输出目录或同一秒启动时留下的。",
        "在回溯所示代码中改为 `os.makedirs(path, exist_ok=True)`,或仅由 rank 0 创建(`if int(os.environ.get('RANK', 0)) "
        "== 0:`)并在其后加 barrier。若在库中则升级,或在启动前处理:代码会先检查是否存在时先 `mkdir -p`,否则把旧目录改名"
        "移走(其中可能有结果:`ls {folder}`)。带时间戳的名称必须由一个 rank 决定。",
    ),
)
NO_FOLDER = Message(
    en=Words(
        "`{folder}` was to be a folder, and something else stands under that name",
        "The line allows a folder that exists, and fails nevertheless: a file or a link that leads nowhere has this "
        "name, or several machines make it at once on a network file system, which does not show it to all at the "
        "same moment.",
        "`ls -ld {folder}`: rename the file, or mend the link and mount what it leads to. On a network file system "
        "make the folder before the start on one node (`mkdir -p`), or let rank 0 make it and the others wait.",
    ),
    zh=Words(
        "`{folder}` 应为目录,但同名位置上是别的东西",
        "该行允许目录已存在,却仍然失败:同名的是文件或失效的链接,或多台机器同时在网络文件系统上创建它,而各机器看到它的时"
        "刻不同。",
        "`ls -ld {folder}`:重命名该文件,或修复链接并挂载其目标。网络文件系统上在启动前由一个节点创建(`mkdir -p`),或由 "
        "rank 0 创建、其他 rank 等待。",
    ),
)

MESSAGES = (TWICE, NO_FOLDER)


def explain(hits: Hits) -> Finding | None:
    """Only where the line makes a folder: files, symbolic links and shared memory exist for other reasons."""
    hit = next(
        (each for each in hits if _MAKES.search(each.code) or any(_MAKER.search(one) for one in each.frames[-2:])),
        None,
    )
    if hit is None:
        return None
    folder = "/".join(hit.groups["folder"].replace("\\\\", "/").split("/")[-2:])
    return found(
        PROBLEM, NO_FOLDER if _ALLOWED.search(hit.code) else TWICE, where=hits.where(), evidence=hits.evidence(),
        confidence=LIKELY, folder=folder,
    )  # fmt: skip
