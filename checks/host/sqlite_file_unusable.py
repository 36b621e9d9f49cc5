"""A cache or tracking file of SQLite cannot be used by this process.

## What it means
Outlines (through diskcache), MLflow, Optuna, Ray and others keep a SQLite file. SQLite needs locks that network file
systems often lack, a folder that it may write, and a file that was not cut off.
## What it does to a run
The import or the first write raises sqlite3.OperationalError or DatabaseError.
## What to do
Put the file on a local disk; delete the broken one where it is a cache.
## How it is found
In a log, by the words of SQLite.
## References
https://www.sqlite.org/faq.html#q5
https://www.sqlite.org/howtocorrupt.html
https://github.com/sgl-project/sglang/issues/2090
https://github.com/sgl-project/sglang/issues/143
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="HST028", name="sqlite-file-unusable", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:OperationalError|DatabaseError):? \(?(?P<what>disk I/O error|database is locked"
        r"|unable to open database file|attempt to write a readonly database|database disk image is malformed"
        r"|file is not a database"
        r"|locking protocol|database or disk is full)",
        symptom_of=("CKP", "HST"),
    ),
)

#: what SQLite says -> why, in English and Chinese
_WHY = {
    "database is locked": ("Several processes or ranks write into one file, or its lock lies on a network disk.",
                           "多个进程或 rank 写同一个文件,或锁位于网络磁盘上。"),
    "locking protocol": ("The file system has no working locks.", "该文件系统的锁不可用。"),
    "unable to open database file": ("The folder is missing or may not be written.", "目录不存在或不可写。"),
    "attempt to write a readonly database": ("File or folder may not be written.", "文件或目录不可写。"),
    "database disk image is malformed": ("The file was cut off or written by several hosts at once.",
                                         "文件被截断,或被多台主机同时写入。"),
    "file is not a database": ("Another program wrote the file, or it was cut off.", "文件由其他程序写入,或被截断。"),
    "database or disk is full": ("The disk or quota is full.", "磁盘或配额已满。"),
    "disk I/O error": (("The disk refused: a network file system (NFS, Lustre) without locks or memory mapping, a full "
                       "quota, or a failing disk."),
                       "磁盘拒绝访问:不支持锁或内存映射的网络文件系统(NFS、Lustre)、配额已满,或磁盘故障。"),
}  # fmt: skip

LOG_MESSAGE = Message(
    en=Words(
        "a SQLite file of {owner} cannot be used: {what}",
        "{why}",
        "Let it lie on a local disk: {place}. Of a cache delete the file, it is made anew; one that holds results "
        "(MLflow, Optuna) is moved, not deleted: end what uses it, copy it, and name the new place. Give each rank a "
        "file of its own where several write. `df -hT` shows what kind of disk it is and how full, `quota -s` the "
        "quota.",
    ),
    zh=Words(
        "{owner_zh}的 SQLite 文件无法使用:{what}",
        "{why_zh}",
        "把它放到本地磁盘:{place_zh}。若是缓存,删除该文件即可重新生成;存放结果的文件(MLflow、Optuna)只移动、不删除:结束"
        "使用它的程序,复制文件,再指定新位置。多个 rank 写入时各用各的文件。`df -hT` 显示磁盘类型与占用,`quota -s` 显示"
        "配额。",
    ),
)

#: part of a frame -> owner and where its file is set
_OWNERS = (
    ("outlines", "outlines", "`rm -rf ~/.cache/outlines`, `export OUTLINES_CACHE_DIR=/tmp/outlines-$USER`"),
    ("diskcache", "diskcache (outlines keeps its compiled grammars there)",
     "`rm -rf ~/.cache/outlines`, `export OUTLINES_CACHE_DIR=/tmp/outlines-$USER`"),
    ("mlflow", "MLflow", "`export MLFLOW_TRACKING_URI=sqlite:////tmp/mlflow.db`, or a tracking server"),
    ("optuna", "Optuna", "a storage URL on a local disk, or a server database for several nodes"),
)  # fmt: skip


def explain(hits: Hits) -> Finding:
    """Whose file it is shows in the frames."""
    frames = " ".join(frame for hit in hits for frame in hit.frames)
    owner, place = next(((each[1], each[2]) for each in _OWNERS if each[0] in frames), ("", ""))
    what = hits.get("what") or ""
    why = _WHY.get(what, _WHY["disk I/O error"])
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        owner=owner or "a library",
        owner_zh=owner or "某个库",
        what=what,
        why=why[0],
        why_zh=why[1],
        place=place or "the setting of that library",
        place_zh=place or "该库的相应设置",
    )
