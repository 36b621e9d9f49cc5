"""Judges sqlite-file-unusable (HST028), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


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
