"""Judges LCH4907/slurm_container, a row of scheduler-refuses; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


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
