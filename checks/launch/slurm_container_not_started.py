"""Slurm could not start the container of a job step.

## What it means
With `--container-image` the pyxis plugin has enroot fetch the image and unpack it on each node, before the command
runs.
## What it does to a run
Nothing of the training starts; the step ends with exit code 1 on that node.
## What to do
Mend what enroot says: credentials, space, a path; or import the image once beforehand.
## How it is found
In a log: by the words of pyxis and enroot.
## References
https://github.com/NVIDIA/pyxis
https://github.com/NVIDIA/pyxis/issues/61
https://github.com/NVIDIA/pyxis/issues/127
https://github.com/NVIDIA/enroot/blob/master/doc/cmd/import.md
https://github.com/NVIDIA/enroot/blob/master/doc/configuration.md
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="LCH046", name="slurm-container-not-started", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"pyxis: (?P<step>couldn't start container|failed to import docker image|container start failed)"),
    Signature(
        r"\[ERROR\] URL https?://(?P<host>[\w.\-]{1,100})\S{0,200} returned error code: (?P<code>\d{3})", kind="sign"
    ),
    Signature(r"enroot-switchroot: failed to execute: (?P<program>\S{1,100}): No such file", kind="sign"),
    Signature(r"pyxis: importing docker image: (?P<file>[^\s/]\S{0,200}\.sqsh)\b", kind="sign"),
    Signature(r"(?:enroot|pyxis)[^\n]{0,200}: (?P<full>No space left on device)", kind="sign"),
)

_HEAD = "Slurm could not start the job's container{why}"
_HEAD_ZH = "Slurm 无法启动作业的容器{why_zh}"
_WHY = (
    "pyxis and enroot fetch and unpack the image on the node before the command. {detail}Exit codes of srun and of "
    "other nodes only follow from it."
)
_WHY_ZH = "pyxis 与 enroot 在执行命令之前,在节点上获取并解压镜像。{detail_zh}srun 与其他节点的退出码只是后果。"
LOG_MESSAGE = Message(
    en=Words(
        _HEAD,
        _WHY,
        "Import the image once, where you can see it fail, and start from the file: `enroot import -o image.sqsh "
        "docker://nvcr.io#nvidia/pytorch:25.06-py3`, then `srun --container-image=$PWD/image.sqsh`. 401 or 403: "
        "credentials in `~/.config/enroot/.credentials` (`machine nvcr.io login $oauthtoken password KEY`); 429: "
        "the registry's limit for anonymous clients; no space: ENROOT_CACHE_PATH, ENROOT_DATA_PATH and "
        "ENROOT_TEMP_PATH on a larger local disk.",
    ),
    zh=Words(
        _HEAD_ZH,
        _WHY_ZH,
        "先单独导入一次镜像以看到错误,再从文件启动:`enroot import -o image.sqsh "
        "docker://nvcr.io#nvidia/pytorch:25.06-py3`,然后 `srun --container-image=$PWD/image.sqsh`。401 或 403:在 "
        "`~/.config/enroot/.credentials` 写入凭据(`machine nvcr.io login $oauthtoken password KEY`);429:镜像仓库对"
        "匿名用户的限额;空间不足:把 ENROOT_CACHE_PATH、ENROOT_DATA_PATH 与 ENROOT_TEMP_PATH 放到更大的本地磁盘。",
    ),
)


def explain(hits: Hits) -> Finding:
    """With what enroot said of the registry or the disk."""
    host, code, full = hits.get("host"), hits.get("code"), hits.get("full")
    why, why_zh, detail, detail_zh = "", "", "", ""
    if code:
        why, why_zh = f": `{host}` answered {code}", f":`{host}` 返回 {code}"
        detail, detail_zh = "The registry refused the image. ", "镜像仓库拒绝了请求。"
    elif file := hits.get("file"):
        why, why_zh = f": it took the file `{file}` for the name of an image", f":把文件 `{file}` 当成了镜像名"
        detail = f"A file is known by `/` or `./` in front: `--container-image=./{file}` (or its full path). "
        detail_zh = f"文件须以 `/` 或 `./` 开头:`--container-image=./{file}`(或完整路径)。"
    elif program := hits.get("program"):
        why, why_zh = f": the image has no `{program}`", f":镜像中没有 `{program}`"
        detail = (
            "The image was unpacked, and what starts in it is not there: a bare image without a shell, or one that "
            "was imported in part (the disk or user namespaces of that node). Try `--no-container-entrypoint`, "
            "`enroot start IMAGE ls /bin` on that node, and import it anew. "
        )
        detail_zh = (
            "镜像已解压,但其中没有要启动的程序:不含 shell 的精简镜像,或导入不完整(该节点的磁盘或 user namespace)。尝试 "
            "`--no-container-entrypoint`,在该节点 `enroot start IMAGE ls /bin`,并重新导入。"
        )
    elif full:
        why, why_zh = ": no space left", ":空间不足"
        detail, detail_zh = "The disk that it unpacks to is full. ", "解压所用的磁盘已满。"
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if why else LIKELY,
        why=why,
        why_zh=why_zh,
        detail=detail,
        detail_zh=detail_zh,
    )
